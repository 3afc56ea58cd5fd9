package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reservation keeps nodes for some jobs, or from all.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	// Cores of the nodes that it takes.
	Cores     int
	Partition string
	// Flags are Slurm's: MAINT, IGNORE_JOBS, FLEX, DAILY, ...
	Flags                   []string
	Users, Accounts, Groups []string
	Licenses                string
	// Active: its time has come.
	Active bool
}

// Maintenance tells whether it keeps all jobs away.
func (r *Reservation) Maintenance() bool { return slices.Contains(r.Flags, "MAINT") }

// Reservations reads all reservations, those to come included.
func (c *Client) Reservations(ctx context.Context) ([]Reservation, error) {
	out, err := c.Run(ctx, "scontrol", "-a", "-o", "show", "reservation")
	if err != nil {
		return nil, err
	}
	return parseReservations(string(out))
}

func parseReservations(text string) (out []Reservation, err error) {
	for line := range strings.Lines(text) {
		v := pairs(line) // free texts (Comment) stand at its end
		if v["ReservationName"] == "" {
			continue
		}
		r := Reservation{Name: v["ReservationName"], Partition: null(v["PartitionName"]), Flags: some(v["Flags"]), Users: some(v["Users"]), Accounts: some(v["Accounts"]),
			Groups: some(v["Groups"]), Licenses: null(v["Licenses"]), Active: v["State"] == "ACTIVE"}
		if r.Nodes, err = Hosts(v["Nodes"]); err != nil {
			return nil, fmt.Errorf("reservation %s: %w", r.Name, err)
		}
		in := reader{fields: []string{v["StartTime"], v["EndTime"]}}
		r.Start, r.End = in.time(), in.time()
		if in.err != nil {
			return nil, fmt.Errorf("reservation %s: %w", r.Name, in.err)
		}
		r.Cores, _ = strconv.Atoi(v["CoreCnt"])
		out = append(out, r)
	}
	return out, nil
}
