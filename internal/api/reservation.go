package api

import "time"

// NewReservation asks for nodes to be kept from a time until another: for maintenance, where no
// team or user is named, else for these.
type NewReservation struct {
	Name  string    `json:"name,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" doc:"one word; made up if there is none"`
	Nodes []string  `json:"nodes" minItems:"1" maxItems:"10000"`
	From  time.Time `json:"from" doc:"a time that is past stands for now"`
	Until time.Time `json:"until"`
	Teams []string  `json:"teams,omitempty" maxItems:"1000"`
	Users []string  `json:"users,omitempty" maxItems:"1000"`
	Text  string    `json:"text,omitempty" maxLength:"1000" doc:"why"`
}

// Reservation is a time for which nodes are kept.
type Reservation struct {
	Name     string     `json:"name"`
	Nodes    []string   `json:"nodes"`
	From     time.Time  `json:"from"`
	Until    time.Time  `json:"until"`
	For      string     `json:"for" doc:"in words: maintenance, or who may run there"`
	Teams    []string   `json:"teams,omitempty"`
	Users    []string   `json:"users,omitempty"`
	State    string     `json:"state" enum:"ahead,now,over,lifted"`
	By       string     `json:"by,omitempty"`
	Text     string     `json:"text,omitempty"`
	Set      time.Time  `json:"set"`
	Lifted   *time.Time `json:"lifted,omitempty"`
	LiftedBy string     `json:"lifted_by,omitempty"`
	Stays    []Stay     `json:"stays,omitempty" doc:"runs that were there before it was set and are protected longer than until it begins"`
}

// Stay is a run that stays on a reserved node.
type Stay struct {
	Job   string    `json:"job"`
	Until time.Time `json:"until" doc:"the end of its protection"`
}

// Reservations are those to come, those of now, and the last ones.
type Reservations struct {
	Reservations []Reservation `json:"reservations"`
}

// Kept is a reservation as a node has it.
type Kept struct {
	Reservation string    `json:"reservation"`
	For         string    `json:"for"`
	From        time.Time `json:"from"`
	Until       time.Time `json:"until"`
}
