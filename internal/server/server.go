package server

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world"
)

// Config says what the server stands before.
type Config struct {
	Daemon *live.Daemon
	// World is what the scheduler acts on; WorldText says in words what that is.
	World     world.World
	WorldText string
	// Auth says who may do what.
	Auth *auth.Auth
	// Payload makes what the world needs to run a job for a user of what its submitter sent; nil = the world
	// runs nothing by itself. Command is the command line of a job.
	Payload func(run *api.Run, who *auth.Identity, user string) ([]byte, error)
	Command func(ctx context.Context, job int32) ([]string, error)
	// Activity is the last measurement of how busy things are; nil = nothing measures.
	Activity func() world.Sample
	// Metrics serves Prometheus metrics; nil = there are none. Settings are how the daemon was
	// started, without secrets.
	Metrics  http.Handler
	Settings map[string]any
	// Rates bound what one user may ask for.
	Rates    Rates
	Revision string
	Version  string
	Log      *slog.Logger
}

// Server answers requests.
type Server struct {
	cfg Config
	d   *live.Daemon
	mux *http.ServeMux
	api huma.API
	// shadows is taken by whoever makes a report of the shadow.
	shadows chan struct{}
	limits  *limiter
}

// maxBody bounds a request's body; batches and texts say their own.
const maxBody = 4 << 20

// New returns a server; [Server.Handler] is what listens.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, d: cfg.Daemon, mux: http.NewServeMux(), shadows: make(chan struct{}, 1)}
	s.limits = newLimiter(cfg.Rates, cfg.Daemon.Now)
	s.api = humago.New(s.mux, apiConfig(cfg.Version))
	s.routes()
	return s
}

// apiConfig is what the OpenAPI description says of itself.
func apiConfig(version string) huma.Config {
	c := huma.DefaultConfig("escala", version)
	c.Info.Description = "Scheduler of a shared GPU cluster: which job runs where, when and for how long, and why."
	c.Info.License = &huma.License{Name: "Apache-2.0"}
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/v1/openapi", "", "/api/v1/schemas"
	c.CreateHooks = nil // no $schema fields in bodies
	c.Transformers = nil
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer",
		Description: "A token of the daemon, or of its OpenID provider. On the unix socket none is needed."}}
	c.Security = []map[string][]string{{"bearer": {}}}
	return c
}

// OpenAPI is the description of the API, in JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// Handler serves all of it.
func (s *Server) Handler() http.Handler { return s.hurried(s.caught(s.limited(s.routed(s.mux)))) }

func (s *Server) routes() {
	s.statusRoutes()
	s.jobRoutes()
	s.queueRoutes()
	s.leftRoutes()
	s.nodeRoutes()
	s.reservationRoutes()
	s.ruleRoutes()
	s.eventRoutes()
	s.journalRoutes()
	s.logRoutes()
	s.shadowRoutes()
	s.explainRoutes()
	s.observeRoutes()
}

// op describes an operation.
func op(method, path, id, summary string) huma.Operation {
	return huma.Operation{Method: method, Path: "/api/v1" + path, OperationID: id, Summary: summary, MaxBodyBytes: maxBody,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable}}
}
