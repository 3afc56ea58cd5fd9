package yamlx

import (
	"regexp"
	"strconv"
)

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./@+-]*( [A-Za-z0-9_./@+(-][A-Za-z0-9_./@+()-]*)*$`)

// Quote writes a text so that it is read back as that text, without quotes
// where none are needed.
func Quote(s string) string {
	switch s {
	case "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
		return strconv.Quote(s)
	}
	if plainText.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
