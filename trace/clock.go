package trace

import "time"

// parseClock reads a calendar time, "2017-10-09 07:01:55" or with a 'T', with an
// optional fraction and an optional zone (Z, +08:00, +0800), and returns Unix
// milliseconds. Without a zone the time is of loc (nil = UTC). Logs hold millions of these,
// which is why it is not time.Parse.
func parseClock(s string, loc *time.Location) (int64, bool) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	year, month, day := digits(s[0:4]), digits(s[5:7]), digits(s[8:10])
	hour, minute, sec := digits(s[11:13]), digits(s[14:16]), digits(s[17:19])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || sec < 0 || sec > 60 {
		return 0, false
	}
	rest := s[19:]
	ms := 0
	if len(rest) > 1 && rest[0] == '.' {
		i, scale := 1, 100
		for ; i < len(rest) && rest[i]-'0' <= 9; i++ {
			ms += int(rest[i]-'0') * scale
			scale /= 10
		}
		rest = rest[i:]
	}
	offset, zoned, ok := parseZone(rest)
	if !ok {
		return 0, false
	}
	if !zoned && loc != nil && loc != time.UTC {
		return time.Date(year, time.Month(month), day, hour, minute, sec, ms*1e6, loc).UnixMilli(), true
	}
	secs := int64(daysFromCivil(year, month, day))*86400 + int64(hour*3600+minute*60+sec-offset)
	return secs*1000 + int64(ms), true
}

// parseZone reads "", "Z", "+08:00" or "+0800" and returns the offset in seconds.
func parseZone(s string) (offset int, zoned, ok bool) {
	switch {
	case s == "":
		return 0, false, true
	case s == "Z":
		return 0, true, true
	case s[0] != '+' && s[0] != '-':
		return 0, false, false
	}
	var h, m int
	switch {
	case len(s) == 6 && s[3] == ':':
		h, m = digits(s[1:3]), digits(s[4:6])
	case len(s) == 5:
		h, m = digits(s[1:3]), digits(s[3:5])
	default:
		return 0, false, false
	}
	if h < 0 || h > 15 || m < 0 || m > 59 {
		return 0, false, false
	}
	offset = h*3600 + m*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true, true
}

// digits returns the value of a string of digits only, -1 for anything else.
func digits(s string) int {
	v := 0
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return -1
		}
		v = v*10 + int(s[i]-'0')
	}
	return v
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFromCivil counts the days from 1970-01-01 in the Gregorian calendar (H.
// Hinnant, "chrono-compatible low-level date algorithms").
func daysFromCivil(y, m, d int) int {
	if m <= 2 {
		y--
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*((m+9)%12)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// midnight is the start of the day of a time in its zone, in Unix milliseconds.
func midnight(ms int64, loc *time.Location) int64 {
	y, m, d := time.UnixMilli(ms).In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, loc).UnixMilli()
}
