package auth

import (
	"regexp"
	"strings"
)

// Redacted stands for what was hidden.
const Redacted = "[redacted]"

// Redact hides what looks secret in a command line, before it is shown to anybody but its owner: the
// values of arguments and variables whose names say so, user names and passwords in URLs, tokens of
// known shapes, and long random texts. It is a guess and misses what does not look like a secret;
// so it is the second lock, never the only one. The arguments are not changed.
func Redact(argv []string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		switch {
		case i > 0 && flagWithoutValue(argv[i-1]) && !strings.HasPrefix(arg, "--") && !harmless(argv[i-1], arg):
			out[i] = Redacted
		case i > 0 && (argv[i-1] == "-u" || argv[i-1] == "--user" || argv[i-1] == "--proxy-user") && strings.Contains(arg, ":"):
			name, _, _ := strings.Cut(arg, ":")
			out[i] = name + ":" + Redacted
		default:
			out[i] = redactArg(arg)
		}
	}
	return out
}

// flagWithoutValue tells an argument whose value is the next one, and is secret.
func flagWithoutValue(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "= \t\n:") && secretName(arg)
}

// redactArg hides what is secret in one argument: all behind NAME= if it is one assignment.
func redactArg(arg string) string {
	if name, value, ok := strings.Cut(arg, "="); ok && plainFlag(name) && secretName(name) && !harmless(name, value) {
		return name + "=" + Redacted
	}
	return RedactText(arg)
}

// plainFlag tells names of flags and variables.
func plainFlag(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0) {
			return false
		}
	}
	return s != ""
}

var (
	nameWords = regexp.MustCompile(`(?i)token|secret|passw(?:or)?d|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential|auth|signature|^-*(?:sig|pwd|pw)$`)
	// What people who train models call tokens and authors is no secret.
	notSecret = regexp.MustCompile(`(?i)tokeni[sz]\w*|detoken\w*|(?:pad|eos|bos|unk|mask|sep|cls|special|added|image)[-_]?tokens?|authors?(?:[-_.]|$)|authored`)
	counted   = regexp.MustCompile(`(?i)tokens|token[-_](?:count|len|length|budget|id|ids|num)|per[-_]token|\btoken[-_]type`)
	number    = regexp.MustCompile(`^-?[0-9][0-9_.,]{0,14}(?:[eE][+-]?[0-9]{1,3})?[kKmMbBgGtT]?$|^(?i:true|false|none|null)$`)

	// assignment is NAME=VALUE, NAME: VALUE, "NAME": "VALUE" or --NAME VALUE within a text.
	assignment = regexp.MustCompile(`(--?[A-Za-z][\w.-]*[ \t]+|[A-Za-z_][\w.-]*\\?["']?[ \t]*[=:][ \t]*)((?i:(?:bearer|basic|token|apikey)[ \t]+)?(?:\\?"[^"]*"|'[^']*'|[^\s&;"']+))`)
	userinfo   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#]*@`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)([ \t]+)[A-Za-z0-9._~+/=-]{8,}`)
	pemKey     = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	// shapes are tokens that say whose they are: AWS, GitHub, GitLab, Hugging Face, Weights & Biases,
	// Slack, Google, OpenAI and those who took after it, JWT, and our own.
	shapes  = regexp.MustCompile(`\b(?:(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|(?:hf|api_org)_[A-Za-z0-9]{20,}|wandb_v1_[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{8,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|[sr]k[-_][A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|esc_[0-9a-f]{16,})`)
	hexBlob = regexp.MustCompile(`\b(?:0x)?[0-9a-fA-F]{32,}\b`)
	blob    = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)
)

// secretName tells whether a name says that its value is secret.
func secretName(name string) bool {
	return nameWords.MatchString(notSecret.ReplaceAllString(name, ""))
}

// harmless tells counts of tokens, which are no secrets, from tokens.
func harmless(name, value string) bool {
	return counted.MatchString(name) && number.MatchString(value)
}

// RedactText does for a text, such as a script, what [Redact] does for arguments.
func RedactText(s string) string {
	s = pemKey.ReplaceAllString(s, Redacted)
	s = userinfo.ReplaceAllString(s, "${1}"+Redacted+"@")
	s = assignments(s)
	s = bearer.ReplaceAllString(s, "${1}${2}"+Redacted)
	s = shapes.ReplaceAllString(s, Redacted)
	s = hexBlob.ReplaceAllString(s, Redacted)
	return blob.ReplaceAllStringFunc(s, func(b string) string {
		if random(b) {
			return Redacted
		}
		return b
	})
}

// assignments hides the values of secret names. Where a name is harmless the search goes on right
// behind it, as its value may hold the next one.
func assignments(s string) string {
	var b strings.Builder
	for {
		m := assignment.FindStringSubmatchIndex(s)
		if m == nil {
			b.WriteString(s)
			return b.String()
		}
		name, value := strings.TrimRight(s[m[2]:m[3]], "=: \t\"'\\"), s[m[4]:m[5]]
		if !secretName(name) || harmless(name, value) || strings.HasPrefix(value, Redacted) {
			b.WriteString(s[:m[3]])
			s = s[m[3]:]
			continue
		}
		b.WriteString(s[:m[3]])
		b.WriteString(Redacted)
		s = s[m[5]:]
	}
}

// random tells drawn texts from paths and words by how often their characters change their kind: at
// a quarter of the places at least, where drawn ones do at 45 %. Capitals that begin a word and
// separators do not count.
func random(s string) bool {
	const (
		lower = 1 << iota
		upper
		digit
	)
	kinds, last, changes, n := 0, 0, 0, 0
	for i := range len(s) {
		k := 0
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			k = lower
		case c >= 'A' && c <= 'Z':
			k = upper
		case c >= '0' && c <= '9':
			k = digit
		}
		if k != 0 {
			n++
			if last != 0 && k != last && !(last == upper && k == lower) {
				changes++
			}
		}
		kinds |= k
		last = k
	}
	return kinds == lower|upper|digit && 4*changes >= n
}
