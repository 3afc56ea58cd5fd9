package auth

import "strings"

// maxToken bounds what is looked at: a token of an issuer with many groups has some kilobytes.
const maxToken = 16 << 10

// ParseBearer takes the token out of the Authorization headers of a request: one, of the scheme
// Bearer, and a token as RFC 6750 has it.
func ParseBearer(headers []string) (Secret, bool) {
	if len(headers) != 1 || len(headers[0]) > maxToken {
		return Secret{}, false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Secret{}, false
	}
	if token = strings.Trim(token, " "); !token68(token) {
		return Secret{}, false
	}
	return NewSecret(token), true
}

// token68 tells the characters that a token may have, '=' only at its end.
func token68(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for i := range len(body) {
		c := body[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// isOurs tells the daemon's own tokens from those of issuers.
func isOurs(t Secret) bool { return strings.HasPrefix(t.Reveal(), TokenPrefix) }
