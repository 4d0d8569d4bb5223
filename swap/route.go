package swap

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/tracing"
)

// keyHeader carries the swap API key.
const keyHeader = "X-API-KEY"

// The routes that keys may use, by their paths. These are also the route labels of metrics;
// routeProbe and routeOther are only labels.
const (
	routeQuote  = "/api/v2/quote"
	routeSwap   = "/api/v2/swap"
	routeVenues = "/api/v2/venues"
	routeStream = "/api/v2/quote/stream"
	routePools  = "/api/v2/pools"
	routeSend   = "/api/v2/send"
	routeProbe  = "probe"
	routeOther  = "other"
)

// addRoutes adds all routes, and an answer for every other path or method.
func (s *Server) addRoutes() {
	s.app.Use(s.common)
	// name is how the rules of keys name the route.
	keyed := []struct {
		method, path, name string
		handle             func(ctx context.Context, c *fiber.Ctx) error
	}{
		{fiber.MethodGet, routeQuote, "quote", s.getQuote},
		{fiber.MethodPost, routeSwap, "swap", s.postSwap},
		{fiber.MethodGet, routeVenues, "venues", s.getVenues},
		{fiber.MethodGet, routePools, "pools", s.getPools},
		{fiber.MethodGet, routeJupiterQuote, "quote", s.jupiterQuoteGet},
		{fiber.MethodPost, routeJupiterSwap, "swap", s.jupiterSwapPost},
		{fiber.MethodPost, routeJupiterInstructions, "swap", s.jupiterInstructionsPost},
		{fiber.MethodGet, routeJupiterLabels, "venues", s.jupiterLabelsGet},
	}
	methods := map[string]string{routeStream: fiber.MethodGet, routeSend: fiber.MethodPost}
	for _, r := range keyed {
		methods[r.path] = r.method
		s.app.Add(r.method, r.path, s.counted(r.path, s.keyed(r.name, r.handle)))
	}
	s.app.Get(routeStream, s.counted(routeStream, s.getStream))
	s.app.Post(routeSend, s.counted(routeSend, s.postSend))
	s.app.Get("/openapi.json", s.counted(routeProbe, s.getOpenAPI))
	s.app.Get("/healthz", s.counted(routeProbe, func(c *fiber.Ctx) error { return c.JSON(fiber.Map{"status": "ok"}) }))
	s.app.Get("/readyz", s.counted(routeProbe, s.getReady))
	for path, method := range methods {
		s.app.All(path, s.counted(routeOther, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderAllow, method+", OPTIONS")
			return newError(fiber.StatusMethodNotAllowed, "use %s", method)
		}))
	}
	s.app.Use(s.counted(routeOther, func(*fiber.Ctx) error {
		return newError(fiber.StatusNotFound, "no such path: GET "+routeQuote+", GET "+routeStream+", POST "+routeSwap+", POST "+routeSend+", GET "+routeVenues+", GET "+routePools+
			", GET "+routeJupiterQuote+", POST "+routeJupiterSwap+", POST "+routeJupiterInstructions+", GET "+routeJupiterLabels)
	}))
}

// common does what all routes need: headers, CORS, and the check of the request's host. It answers
// OPTIONS itself.
func (s *Server) common(c *fiber.Ctx) error {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	s.origins.Headers(cors, c.Method(), c.Get(fiber.HeaderOrigin), c.Set)
	if !s.gate.AdmitHost(string(c.Request().Host())) {
		return s.counted(routeOther, func(*fiber.Ctx) error {
			return newError(fiber.StatusForbidden, "this server runs without keys and answers to loopback host names only: configure a key (--swap-keys) to publish it")
		})(c)
	}
	if c.Method() == fiber.MethodOptions {
		return c.SendStatus(fiber.StatusNoContent)
	}
	return c.Next()
}

// cors is what pages of allowed origins may do.
var cors = origins.CORS{Methods: "GET, POST, OPTIONS", Allowed: "Content-Type, " + keyHeader, Exposed: "Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"}

// counted runs a handler, answers its error or panic, and records metrics and a span.
func (s *Server) counted(route string, handle fiber.Handler) fiber.Handler {
	seconds := s.metrics.requestSeconds.WithLabelValues(route)
	return func(c *fiber.Ctx) error {
		began := time.Now()
		ctx, span := s.deps.Tracer.Server(c.UserContext(), route, c.Get(tracing.Header))
		c.SetUserContext(ctx)
		if err := s.guarded(c, handle); err != nil {
			s.writeError(c, route, err)
		}
		span.Int("http.response.status_code", c.Response().StatusCode())
		if c.Response().StatusCode() >= fiber.StatusInternalServerError {
			span.Fail("")
		}
		span.End()
		s.metrics.requests.WithLabelValues(route, strconv.Itoa(c.Response().StatusCode())).Inc()
		seconds.Observe(time.Since(began).Seconds())
		return nil
	}
}

// guarded calls a handler, and returns a panic as an error.
func (s *Server) guarded(c *fiber.Ctx, handle fiber.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v: %s", p, debug.Stack())
		}
	}()
	return handle(c)
}

// keyed makes a handler that checks the key for a method, bounds the requests in flight, in all and
// of the client, gives the request a deadline, and counts the bytes of the answer.
func (s *Server) keyed(method string, handle func(ctx context.Context, c *fiber.Ctx) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		pass, client, err := s.admit(c, method)
		if err != nil {
			return err
		}
		if err := s.requests.Take(client); err != nil {
			return err
		}
		defer s.requests.Give(client)
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		ctx, cancel := context.WithTimeout(withClient(c.UserContext(), client), s.cfg.timeout)
		defer cancel()
		if err := handle(ctx, c); err != nil {
			return err
		}
		pass.Count(method, usage.Counts{Bytes: uint64(len(c.Response().Body()))})
		return nil
	}
}

// admit checks the key and its rules, takes one request from the key's budget and counts it. method
// is how the rules of keys name the route: quote, stream, swap, venues, pools. client names who
// asks: the key, or the network of the address where no key is needed.
func (s *Server) admit(c *fiber.Ctx, method string) (pass keys.Pass, client string, err error) {
	var forwarded []string
	for _, value := range c.Request().Header.PeekAll(proxies.Header) {
		forwarded = append(forwarded, string(value))
	}
	address := s.cfg.TrustedProxies.ClientOfConn(c.Context().RemoteAddr(), forwarded)
	pass, refused := s.gate.Admit(keys.Request{Key: c.Get(keyHeader), Origin: c.Get(fiber.HeaderOrigin), Address: address})
	if refused == nil {
		var budget keys.Budget
		if refused = pass.Method(method); refused == nil {
			budget, refused = pass.Take(1)
		}
		if refused == nil {
			pass.Count(method, usage.Counts{Requests: 1, Units: 1})
			budget.Headers(c.Set)
			return pass, pass.Client(), nil
		}
		pass.Count(method, usage.Counts{Refused: 1})
	}
	refused.Headers(c.Set)
	if refused.Rule == keys.RuleMissing {
		return pass, "", newError(refused.Status, "%s in the header %s", refused, keyHeader)
	}
	return pass, "", newError(refused.Status, "%s", refused)
}

// getQuote is GET /api/v2/quote.
func (s *Server) getQuote(ctx context.Context, c *fiber.Ctx) error {
	fields, err := queryFields(c)
	if err != nil {
		return err
	}
	r, err := parseRequest(fields, false)
	if err != nil {
		return err
	}
	return s.answer(ctx, c, r, false)
}

// postSwap is POST /api/v2/swap. Its body has the parameters of a quote, or a whole quote that was
// answered before. The answer is that of a quote, always with the transaction. It does not execute
// the swap: only the path, which the specification gives, has that name.
func (s *Server) postSwap(ctx context.Context, c *fiber.Ctx) error {
	fields, err := postFields(c)
	if err != nil {
		return err
	}
	r, err := parseRequest(fields, true)
	if err != nil {
		return err
	}
	return s.answer(ctx, c, r, true)
}

// postFields reads the parameters of a POST.
func postFields(c *fiber.Ctx) (fields, error) {
	// fiber's own Body would decode a coded body without a bound: 663 bytes of br can be a
	// gigabyte.
	if coded := c.Get(fiber.HeaderContentEncoding); framing.Coded(coded) {
		return nil, newError(fiber.StatusUnsupportedMediaType, "content-encoding is %s: a body must be sent as it is", quoted(coded))
	}
	if name, given := firstArg(c); given {
		return nil, badRequest("%s is in the URL: the parameters of POST belong into the body", quoted(name))
	}
	return bodyFields(c.Request().Body())
}

// count counts the swaps of an answer by their venues.
func (s *Server) count(out *Response) {
	for i := range out.Route {
		s.metrics.quotesOf[out.Route[i].Venue].Inc()
	}
}

// answer computes the quote of a request and sends it, with a simulation if simulate is set.
func (s *Server) answer(ctx context.Context, c *fiber.Ctx, r *request, simulate bool) error {
	began := time.Now()
	out, chosen, err := s.quote(ctx, r)
	if err != nil {
		return err
	}
	if simulate {
		out.Simulation = s.simulate(ctx, out.Txn)
	}
	s.count(out)
	if r.jupiter {
		return c.JSON(jupiter(r, chosen, out, began))
	}
	return send(c, out)
}

// getOpenAPI is GET /openapi.json: the document that describes this API.
func (s *Server) getOpenAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(s.openapi)
}

// getReady is GET /readyz: it fails if no quote can be made, for lack of a JSON-RPC server.
func (s *Server) getReady(c *fiber.Ctx) error {
	if s.market == nil {
		return noUpstream()
	}
	return c.JSON(fiber.Map{"status": "ok"})
}
