// Package auth says who is asking, and what they may do. It knows net/http and no framework.
//
// # Who
//
// [Auth.Middleware] makes an [Identity] of each request, by the way it came:
//
//   - A unix socket tells the uid of whoever opened the connection (peer.go): no token is needed.
//     Uid 0 and the daemon's own are operators, as they could do everything to it anyway.
//   - TCP, also from this machine, needs a bearer token of the daemon (tokens.go) or of an OIDC
//     issuer (oidc.go), or the cookie of a session (session.go), which begins with a one-time link
//     (onetime.go) or a login at an issuer (oidclogin.go).
//   - An address that other machines can reach needs TLS as well: [CheckListen].
//
// Requests over TCP must name the server as it is called here (host.go), so that no page of another
// site can reach it by a name of its own. There are no CORS headers, ever.
//
// # What
//
// [Can] decides by one table (can.go): action, role, whose the object is, and where in the tree of
// budgets it stands. Roles come from a token, from the configuration and from the managers that
// the tree names (roles.go). [ChangedPaths] says who has to agree to a change of the tree.
//
// # Secrets
//
// Tokens, codes and cookies are 256 random bits. What is kept of them is a SHA-256. None of them
// is in an error, a log or the text of any type: [Secret] sees to that.
package auth
