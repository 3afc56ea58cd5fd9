package report

// planPicture is a plan as a picture of GPU x time: what the template draws as SVG.
// Everything is in the picture's own pixels.
type planPicture struct {
	Title, Alternative string
	W, H               float64
	// Left and Right are the ends of the time axis, Bottom that of the grid.
	Left, Right, Top, Bottom float64
	// Step is the width of a step, Now the middle of the first.
	Step, Now float64
	Hours     []planTick
	Lines     []planLine
	Rows      []planTick
	Closed    []planBox
	Bars      []planBar
	Cells     []planCells
	Names     []planName
	Strips    []planStrip
}

type planTick struct {
	At   float64
	Text string
}

// planLine is a vertical line, Strong at midnight.
type planLine struct {
	At     float64
	Strong bool
}

type planBox struct {
	X, Y, W, H float64
	Title      string
}

// planBar is a job on its block.
type planBar struct {
	planBox
	Family, Shade int
	Name, Note    string
	// Size of the name's letters; NameY and NoteY their lines.
	Size, TextX, NameY, NoteY float64
	// Pad is the height of the part of the block that the job did not ask for.
	Pad float64
	// Before and After mark that it ran before the horizon, or goes on after it.
	Before, After string
}

// planCells is what an application holds in one step: one box for each GPU.
type planCells struct {
	Color       int
	Path, Hatch string
	Title       string
}

type planName struct {
	X, Y  float64
	Color int
	Text  string
}

// planStrip is a row under the grid: what an application wants and holds, or what is idle.
type planStrip struct {
	Name, Note string
	// Color of the application; -1 for idle GPUs.
	Color             int
	Y, H              float64
	Held, Over        string
	Demand            string
	Short             []planBox
	Tight             []planBox
	Numbers           []planNumber
	NameY, NoteY, End float64
	NumberY           float64
}

type planNumber struct {
	X    float64
	Text string
	Bad  bool
}
