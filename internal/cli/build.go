package cli

import (
	"runtime"
	"runtime/debug"
)

// Build says what a program was built from.
type Build struct {
	// Version is a tag or a pseudo-version, Revision the commit, Time its date.
	Version, Revision, Time string
	// Modified: the working tree had changes.
	Modified bool
	// Go is the compiler's version, Platform its target.
	Go, Platform string
}

// ReadBuild reads what the Go toolchain noted in the program. version, if not
// "", takes the place of the module's.
func ReadBuild(version string) Build {
	b := Build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// name is the version as reports carry it.
func (b Build) name() string {
	if b.Version == "" {
		return "unknown"
	}
	return b.Version
}
