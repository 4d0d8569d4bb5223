package api

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/tracing"
)

// limitWindow is the length of all rate limit windows.
const limitWindow = time.Minute

// Windows of the limiter: indices of RateLimits.rules. windowNone marks routes that are never
// limited: an operator's probes and dashboards must work under load.
const (
	windowNone   = -1
	windowSearch = iota - 1
	windowLookup
	windowBatch
	windowImage
	windowGlobal
)

// rules returns the limit of each window.
func (r RateLimits) rules() []limits.Rule {
	rules := make([]limits.Rule, windowGlobal+1)
	for window, limit := range map[int]int{
		windowSearch: r.Search, windowLookup: r.Lookup, windowBatch: r.Batch, windowImage: r.Image, windowGlobal: r.Global,
	} {
		rules[window] = limits.Rule{Limit: limit, Window: limitWindow}
	}
	return rules
}

// routeOther is the route label of requests that no route answers.
const routeOther = "other"

// route is one path with one method.
type route struct {
	method, path string
	window       int // of the limiter
	// needsReplica says that requests are refused until the replica is loaded, because the answers
	// would be wrong.
	needsReplica bool
	handle       func(c *fiber.Ctx) error
}

// addRoutes registers all routes.
func (s *Server) addRoutes() {
	s.routes = []*route{
		{fiber.MethodGet, "/tokens", windowSearch, true, s.getTokens},
		{fiber.MethodPost, "/tokens/batch", windowBatch, true, s.postBatch},
		// before the next route, whose pattern matches it, too
		{fiber.MethodGet, "/tokens/stream", windowGlobal, true, s.getStream},
		{fiber.MethodGet, "/tokens/:mint", windowLookup, true, s.getToken},
		{fiber.MethodGet, "/tokens/:mint/history", windowLookup, true, s.getHistory},
		{fiber.MethodGet, "/tokens/:mint/ohlcv", windowLookup, true, s.getCandles},
		{fiber.MethodGet, "/tokens/:mint/pools", windowLookup, true, s.getPools},
		{fiber.MethodGet, "/tokens/:mint/liquidity/history", windowLookup, true, s.getLiquidityHistory},
		{fiber.MethodGet, "/pools/:pool/liquidity", windowLookup, false, s.getPoolLiquidity},
		{fiber.MethodGet, "/pools/:pool/liquidity/history", windowLookup, false, s.getPoolLiquidityHistory},
		{fiber.MethodGet, "/tokens/:mint/trades", windowLookup, true, s.getTrades},
		{fiber.MethodGet, "/trades/stream", windowGlobal, true, s.getTradesStream},
		{fiber.MethodGet, "/tokens/:mint/accounts", windowLookup, true, s.keepsBalances(s.getAccounts)},
		{fiber.MethodGet, "/tokens/:mint/holders", windowLookup, true, s.keepsBalances(s.getHolders)},
		{fiber.MethodGet, "/tokens/:mint/holders/history", windowLookup, true, s.keepsBalances(s.getHoldersHistory)},
		{fiber.MethodGet, "/tokens/:mint/transfers", windowLookup, true, s.keepsBalances(s.getTransfers)},
		{fiber.MethodGet, "/owners/:owner/accounts", windowLookup, true, s.keepsBalances(s.getOwnerAccounts)},
		{fiber.MethodGet, "/owners/:owner/tokens", windowLookup, true, s.keepsBalances(s.getOwnerTokens)},
		{fiber.MethodGet, "/owners/:owner/transfers", windowLookup, true, s.keepsBalances(s.getOwnerTransfers)},
		{fiber.MethodGet, "/venues", windowLookup, false, s.getVenues},
		{fiber.MethodGet, "/img/:mint", windowImage, false, s.getImage},
		{fiber.MethodGet, "/status", windowNone, false, s.getStatus},
		{fiber.MethodGet, "/status/past", windowGlobal, false, s.getStatusPast},
		{fiber.MethodGet, "/healthz", windowNone, false, s.getHealth},
		{fiber.MethodGet, "/readyz", windowNone, false, s.getReady},
		{fiber.MethodGet, "/openapi.json", windowGlobal, false, s.getOpenAPI},
		{fiber.MethodGet, "/docs", windowGlobal, false, s.getDocs},
		{fiber.MethodGet, "/llms.txt", windowGlobal, false, s.getLLMs},
	}
	if s.cfg.TokensV2 {
		s.routes = append(s.routes, &route{fiber.MethodGet, "/tokens/v2/search", windowSearch, true, s.getV2Search},
			&route{fiber.MethodGet, "/tokens/v2/tag", windowSearch, true, s.getV2Tag}, &route{fiber.MethodGet, "/tokens/v2/recent", windowSearch, true, s.getV2Recent},
			&route{fiber.MethodGet, "/tokens/v2/:category/:interval", windowSearch, true, s.getV2Category})
	}
	if s.cfg.TokenList {
		s.routes = append(s.routes, &route{fiber.MethodGet, "/tokenlist.json", windowSearch, true, s.getTokenList})
	}
	s.addExplorer()
	other := &route{path: routeOther, window: windowGlobal, handle: s.noRoute}
	for _, r := range s.routes {
		handler := func(c *fiber.Ctx) error { return s.run(c, r) }
		if r.method == fiber.MethodGet {
			s.app.Get(r.path, handler) // HEAD too
		} else {
			s.app.Add(r.method, r.path, handler)
			// The path's other methods must not reach a later pattern: GET /tokens/batch does not
			// look up a mint.
			s.app.All(r.path, func(c *fiber.Ctx) error { return s.run(c, other) })
		}
	}
	s.app.Use(func(c *fiber.Ctx) error { return s.run(c, other) })
	s.answerUnknownMethods(other)
}

// answerUnknownMethods answers methods that fiber does not know like any other wrong method. fiber
// alone would answer in plain text.
func (s *Server) answerUnknownMethods(other *route) {
	server := s.app.Server()
	next := server.Handler
	server.Handler = func(request *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(request.Method())) {
			next(request)
			return
		}
		c := s.app.AcquireCtx(request)
		defer s.app.ReleaseCtx(c)
		_ = s.run(c, other) // never fails: it answers with the error
	}
}

// run does what all routes share: tracing, checks, errors, headers and metrics.
func (s *Server) run(c *fiber.Ctx, r *route) error {
	begin := time.Now()
	if s.deps.Tracer != nil {
		ctx, span := s.deps.Tracer.Server(c.UserContext(), r.method+" "+r.path, c.Get(tracing.Header))
		c.SetUserContext(ctx)
		defer func() { endSpan(span, c, r) }()
	}
	if err := s.guarded(c, r); err != nil {
		s.writeError(c, err)
	}
	s.finish(c)
	if len(c.Request().Body()) > 0 {
		// Otherwise an idle connection would keep the body's memory.
		c.Request().SwapBody(nil)
	}
	s.metrics.seconds.WithLabelValues(r.path).Observe(time.Since(begin).Seconds())
	s.metrics.requests.WithLabelValues(r.path, strconv.Itoa(c.Response().StatusCode())).Inc()
	return nil
}

func endSpan(span *tracing.Span, c *fiber.Ctx, r *route) {
	status := c.Response().StatusCode()
	span.String("http.route", r.path)
	span.Int("http.response.status_code", status)
	span.String("request_id", requestID(c))
	if status >= fiber.StatusInternalServerError {
		span.Fail("")
	}
	span.End()
}

// guarded checks the request and calls the handler. It turns a panic into an error: one bad request
// must not end the node.
func (s *Server) guarded(c *fiber.Ctx, r *route) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.deps.Logger.Error("handler panicked", "route", r.path, "request_id", requestID(c), "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = newError(fiber.StatusInternalServerError, "the request could not be answered; it is not your fault")
		}
	}()
	setCommonHeaders(c)
	if host := string(c.Request().Host()); !s.hosts.Admit(host) {
		return newError(fiber.StatusForbidden, "%s", hosts.Refusal(host))
	}
	if c.Method() == fiber.MethodOptions {
		return s.preflight(c)
	}
	if err := s.limit(c, r); err != nil {
		return err
	}
	if coded := c.Get(fiber.HeaderContentEncoding); r.method == fiber.MethodPost && framing.Coded(coded) {
		return newError(fiber.StatusUnsupportedMediaType, "content-encoding is %s: a body must be sent as it is", quoted(coded))
	}
	if r.needsReplica && !s.replica.Ready() {
		e := newError(fiber.StatusServiceUnavailable, "the registry is still loading; /readyz says when it is there")
		e.headers = []string{fiber.HeaderRetryAfter, "1"}
		return e
	}
	return r.handle(c)
}

// limit counts the request, sets the rate limit headers, and refuses the request if the client has
// made too many.
func (s *Server) limit(c *fiber.Ctx, r *route) error {
	if s.limiter == nil || r.window == windowNone || s.isInternal(c) {
		return nil
	}
	windows := []int{r.window}
	if s.cfg.RateLimits.GlobalCountsAll && r.window != windowGlobal {
		windows = append(windows, windowGlobal)
	}
	d := s.limiter.Take(s.client(c), s.deps.Now(), windows...)
	c.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	c.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
	c.Set("RateLimit-Reset", seconds(d.Reset))
	if d.Allowed {
		return nil
	}
	s.metrics.limited.WithLabelValues(r.path).Inc()
	wait := seconds(d.RetryAfter)
	who := ""
	if d.Network > 0 {
		who = " from your IPv6 /" + strconv.Itoa(d.Network)
	}
	e := newError(fiber.StatusTooManyRequests, "more than %d requests within a minute%s: try again in %s s", d.Limit, who, wait)
	e.headers = []string{fiber.HeaderRetryAfter, wait}
	return e
}

// seconds returns d in whole seconds, rounded up: to wait that long is enough.
func seconds(d time.Duration) string {
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// peerOf returns the remote address of a connection.
func peerOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}

// isInternal returns whether the request comes from another room of Mintlake. No rate limit applies
// to such a request.
func (s *Server) isInternal(c *fiber.Ctx) bool { return s.internal.Admits(c.Get(internaltoken.Header)) }

// internalClient is the client that requests of other rooms count for, in the bounds that do apply
// to them. It is no address, so these requests share no other client's bounds.
const internalClient = "internal"

// client returns the client that the request counts for in limits.
func (s *Server) client(c *fiber.Ctx) string {
	if s.isInternal(c) {
		return internalClient
	}
	peer := peerOf(c.Context().Conn())
	if len(s.proxies.List) == 0 {
		return s.proxies.Client(peer, "")
	}
	var forwarded []string
	for _, value := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, string(value))
	}
	return s.proxies.Client(peer, strings.Join(forwarded, ","))
}

// allowed returns the methods of a path; nil if no route has it. As in OpenAPI, a path without
// parameters wins over one with parameters.
func (s *Server) allowed(path string) []string {
	var methods []string
	named := slices.ContainsFunc(s.routes, func(r *route) bool { return r.path == strings.TrimSuffix(path, "/") })
	for _, r := range s.routes {
		if !matches(r.path, path) || named && strings.Contains(r.path, ":") {
			continue
		}
		methods = append(methods, r.method)
		if r.method == fiber.MethodGet {
			methods = append(methods, fiber.MethodHead)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, fiber.MethodOptions)
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

// matches returns whether path matches the pattern as in fiber's router: a trailing slash makes no
// difference, and a parameter is not empty. But unlike there, * stands for itself only.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":") && got != ""
	})
}

// preflight answers a CORS preflight. The preflight does not count for the rate limit, because the
// request that follows it does.
func (s *Server) preflight(c *fiber.Ctx) error {
	methods := s.allowed(c.Path())
	if methods == nil {
		return s.noRoute(c)
	}
	list := strings.Join(methods, ", ")
	c.Set(fiber.HeaderAllow, list)
	c.Set(fiber.HeaderAccessControlAllowMethods, list)
	headers := c.Get(fiber.HeaderAccessControlRequestHeaders)
	if headers == "" {
		headers = fiber.HeaderContentType
	}
	c.Set(fiber.HeaderAccessControlAllowHeaders, headers)
	c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	c.Status(http.StatusNoContent)
	return nil
}

// noRoute answers 405 if the path exists, and otherwise 404.
func (s *Server) noRoute(c *fiber.Ctx) error {
	methods := s.allowed(c.Path())
	if methods == nil {
		if s.noPage(c) {
			return nil
		}
		return newError(fiber.StatusNotFound, "there is nothing at %s; /docs lists what there is", quoted(c.Path()))
	}
	list := strings.Join(methods, ", ")
	e := newError(fiber.StatusMethodNotAllowed, "method is %s: %s takes %s", quoted(c.Method()), quoted(c.Path()), list)
	e.headers = []string{fiber.HeaderAllow, list}
	return e
}

// Routes lists what the API serves, as "METHOD /path/{parameter}".
func (s *Server) Routes() []string {
	list := make([]string, 0, len(s.routes))
	for _, r := range s.routes {
		segments := strings.Split(r.path, "/")
		for i, segment := range segments {
			if name, ok := strings.CutPrefix(segment, ":"); ok {
				segments[i] = "{" + name + "}"
			}
		}
		list = append(list, r.method+" "+strings.Join(segments, "/"))
	}
	return list
}
