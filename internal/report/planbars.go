package report

import "fmt"

// box is the box of a block for some steps.
func (d *planDrawer) box(first, n, from, to int, title string) planBox {
	gap := min(1.5, d.row/8)
	return planBox{X: d.x(from) + 1, Y: tenth(d.y(first) + gap/2), W: tenth(d.x(min(to, d.q.Steps)) - d.x(from) - 2), H: tenth(float64(n)*d.row - gap), Title: title}
}

func (d *planDrawer) closed() {
	for _, w := range d.q.Closed {
		from, to := max(0, w.From), min(w.To, d.q.Steps)
		if from >= to {
			continue
		}
		text := "closed"
		if w.Absent {
			text = "no GPU"
		}
		if w.Name != "" {
			text = visible(w.Name) + ", " + text
		}
		d.pic.Closed = append(d.pic.Closed, d.box(w.First, w.Count, from, to, fmt.Sprintf("%s: %s, %s to %s", text, rowOf(d.q, w.First, w.Count), d.clock.at(from), d.clock.at(to))))
	}
}

func (d *planDrawer) jobs() {
	for _, s := range byStart(d.p.Plan) {
		if s.Start >= d.q.Steps {
			continue
		}
		j := &d.q.Jobs[s.Job]
		kind := ""
		if text := j.Kind.String(); text != "" {
			kind = " (" + text + ")"
		}
		b := planBar{planBox: d.box(s.Offset, s.Size, s.Start, s.End(), fmt.Sprintf("%s%s: GPU %s, %s to %s (%s), priority %d",
			visible(j.ID), kind, where(d.q, s.Offset, s.Size), d.clock.at(s.Start), d.clock.at(s.End()), some(s.Steps, "step"), j.Priority)),
			Family: jobFamily(j.Kind), Shade: d.l.shade[s.Job]}
		if s.Size > j.GPUs {
			b.Title += fmt.Sprintf("; asked for %d GPUs", j.GPUs)
			b.Pad = tenth(float64(s.Size-j.GPUs) * d.row)
		}
		mid := b.Y + b.H/2
		if b.H >= 6 {
			if j.Running != nil && s.Start == 0 && s.Offset == j.Running.Offset {
				b.Before = fmt.Sprintf("M%.1f %.1fl5 -4v8z", b.X+1, mid)
			}
			if s.End() > d.q.Steps {
				b.After = fmt.Sprintf("M%.1f %.1fl-5 -4v8z", b.X+b.W-1, mid)
			}
		}
		d.letter(&b, visible(j.ID), fmt.Sprintf("%s, priority %d", some(j.GPUs, "GPU"), j.Priority))
		d.pic.Bars = append(d.pic.Bars, b)
	}
}

// letter writes a name into a bar, and a note below it, as far as there is room.
func (d *planDrawer) letter(b *planBar, name, note string) {
	const pad = 8.0
	room := b.W - 1.5*pad
	if b.After != "" {
		room -= pad
	}
	b.Size = min(12.5, tenth(b.H-1))
	if b.Size < 8 {
		return
	}
	b.TextX = b.X + pad
	if b.Name = fitting(name, room, b.Size); b.Name != name {
		b.Size = min(b.Size, 10)
		b.Name = fitting(name, room, b.Size)
	}
	b.NameY = tenth(b.Y + b.H/2 + b.Size*.36)
	if b.Name == name && b.H >= 40 && fitting(note, room, 11) == note {
		b.Note, b.NameY, b.NoteY = note, tenth(b.Y+b.H/2-2), tenth(b.Y+b.H/2+13)
	}
}

// fitting cuts a text to a width. Letters are taken to be wider than they mostly are.
func fitting(text string, room, size float64) string {
	most := int(room / (size * .58))
	if width(text) <= most {
		return text
	}
	if most < 3 {
		return ""
	}
	return string([]rune(text)[:most-1]) + "…"
}
