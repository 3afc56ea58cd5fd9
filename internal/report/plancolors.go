package report

import "fmt"

func (g *planGrid) style(code, text string) string {
	if !g.color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// jobColors are backgrounds that white letters are read on, by family and shade.
var jobColors = [4][planShades]int{
	{60, 96, 66, 97, 59, 95},
	{25, 61, 31, 19, 67, 24},
	{28, 65, 29, 22, 23, 64},
	{130, 94, 100, 88, 131, 166},
}

func jobStyle(family, shade int) string {
	return fmt.Sprintf("38;5;231;48;5;%d", jobColors[family][shade])
}

// appColors are letters that are read on black and on white.
var appColors = [...]int{162, 37, 172, 99, 34}

func appStyle(app int) string { return fmt.Sprintf("38;5;%d", appColors[app%len(appColors)]) }
