package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/escala-sched/escala/internal/api"
)

// How often the screen is drawn anew at most as things happen, how often at least it is asked,
// and how often the clock on it goes on.
const (
	topAtMost  = 250 * time.Millisecond
	topAtLeast = 2 * time.Second
	topClock   = time.Second
)

// topProgram puts the model before a terminal and a daemon.
type topProgram struct {
	topModel
	ctx  context.Context
	s    *State
	c    *conn
	news <-chan struct{}
	// asking: a request is under way; asked is when the last one began. fresh: something happened since.
	requested bool
	asked     time.Time
	fresh     bool
	err       error
}

type (
	topGot struct {
		data *topData
		err  error
	}
	topNews   struct{}
	topTick   struct{}
	topDetail struct {
		id, text string
	}
	topSaid string
)

// watchTop runs until it is left.
func (s *State) watchTop(ctx context.Context, c *conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &topProgram{ctx: ctx, s: s, c: c, news: watch(ctx, c, func(string) bool { return true })}
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(s.Stdin), tea.WithOutput(s.Stdout.Writer)).Run()
	switch {
	case p.err != nil:
		return p.err
	case errors.Is(err, tea.ErrInterrupted), errors.Is(err, tea.ErrProgramKilled):
		return context.Canceled
	}
	return err
}

func (p *topProgram) Init() tea.Cmd { return tea.Batch(p.request(), p.listen(), tick(topClock)) }

func tick(d time.Duration) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return topTick{} })
}

// request asks for everything, once at a time.
func (p *topProgram) request() tea.Cmd {
	p.requested, p.fresh, p.asked = true, false, time.Now()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		defer cancel()
		d, err := readTop(ctx, p.c, time.Now())
		return topGot{d, err}
	}
}

// listen waits for something to happen.
func (p *topProgram) listen() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-p.ctx.Done():
			return nil
		case <-p.news:
			return topNews{}
		}
	}
}

func (p *topProgram) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return p, p.do(msg)
	case topNews:
		p.fresh = true
		return p, tea.Batch(p.listen(), p.maybe())
	case topTick:
		if time.Since(p.asked) >= topAtLeast {
			p.fresh = true
		}
		return p, tea.Batch(tick(topClock), p.maybe())
	case topGot:
		p.requested = false
		switch {
		case msg.err == nil:
			p.take(msg.data)
		case p.data == nil:
			p.err = msg.err
			return p, tea.Quit
		}
		return p, p.about(p.detailID)
	case topDetail:
		if msg.id == p.detailID {
			p.detail = msg.text
		}
	case topSaid:
		p.note = string(msg)
		p.fresh = true
		return p, p.maybe()
	}
	return p, nil
}

// maybe asks again where something happened and it was not asked just now.
func (p *topProgram) maybe() tea.Cmd {
	if p.requested || !p.fresh {
		return nil
	}
	wait := topAtMost - time.Since(p.asked)
	if wait <= 0 {
		return p.request()
	}
	p.fresh = false
	return tea.Tick(wait, func(time.Time) tea.Msg { return topSaid(p.note) })
}

func (p *topProgram) do(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if p.typing && k.Text != "" {
		name = k.Text
	}
	switch what, id := p.key(name); what {
	case topQuit:
		return tea.Quit
	case topOpen:
		return p.about(id)
	case topCancel:
		return func() tea.Msg {
			ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
			defer cancel()
			if _, err := p.c.Call(ctx, http.MethodPost, "/jobs/"+url.PathEscape(id)+"/cancel", api.Reason{}, nil, nil); err != nil {
				return topSaid(err.Error())
			}
			return topSaid("Job " + id + " is cancelled.")
		}
	}
	return nil
}

// about asks for all about a job, "" = none.
func (p *topProgram) about(id string) tea.Cmd {
	if id == "" {
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		defer cancel()
		text, err := p.s.aboutJob(ctx, p.c, id)
		if err != nil {
			text = err.Error()
		}
		return topDetail{id, text}
	}
}

func (p *topProgram) View() tea.View {
	v := tea.NewView(p.view(p.s.wall(), p.s.colored(p.s.Stdout)))
	v.AltScreen = true
	v.WindowTitle = "escala top"
	return v
}
