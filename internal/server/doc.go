// Package server is the daemon's HTTP side: /api/v1 with its OpenAPI description, events,
// metrics, health. Handlers only translate: what can be asked is in package live, what
// goes over the wire in package api, who may do what in package auth.
package server
