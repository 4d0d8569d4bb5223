package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// ActorHeader names who makes the request, for the log of changes. All callers have the same token,
// so this is only what the caller claims.
const ActorHeader = "X-Mintlake-Actor"

// parseBody reads one JSON object without unknown members. An empty body leaves into as it is.
func parseBody(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalid("the body is no such JSON object: %.200s", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("the body must be one JSON object")
	}
	return nil
}

func (s *Server) routes() http.Handler {
	api := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/keys":                                      s.list,
		"POST /v1/keys":                                     s.create,
		"GET /v1/keys/{product}/{name}":                     s.show,
		"PATCH /v1/keys/{product}/{name}":                   s.restrict,
		"POST /v1/keys/{product}/{name}/rotate":             s.rotate,
		"POST /v1/keys/{product}/{name}/revoke":             s.revoke,
		"GET /v1/log":                                       s.changes,
		"GET /v1/node":                                      s.node,
		"GET /usage":                                        s.usage,
		"GET /v1/dead-letters":                              s.deadLetters,
		"POST /v1/dead-letters/{partition}/{offset}/replay": s.replay,
	} {
		api.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handle(w, r); err != nil {
				s.fail(w, err)
			}
		})
	}
	api.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpjson.WriteError(w, http.StatusNotFound, "no such path or method: docs/keys.md lists them")
	})
	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		httpjson.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	all.HandleFunc("POST /session", s.signIn)
	all.HandleFunc("DELETE /session", s.signOut)
	if s.deps.Pages != nil {
		all.Handle("GET /{$}", s.deps.Pages)
		all.Handle("GET /dashboard/", s.deps.Pages)
	}
	all.Handle("/", s.authorized(api))
	return all
}

// keyOf reads the product and the name of a key from the path.
func keyOf(r *http.Request) (keys.Product, string, error) {
	product, err := keys.ParseProduct(r.PathValue("product"))
	if err != nil {
		return "", "", invalid("%.100s", err)
	}
	return product, r.PathValue("name"), nil
}

// actorOf names who makes the request. A request without ActorHeader and without a token comes from
// the session of a dashboard.
func actorOf(r *http.Request) string {
	if actor := r.Header.Get(ActorHeader); actor != "" {
		return actor
	}
	if r.Header.Get("Authorization") == "" {
		return "dashboard"
	}
	return "admin API"
}

// IssuedAnswer is the only answer that holds a key in clear text.
type IssuedAnswer struct {
	Key string `json:"key"`
	KeyAnswer
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) error {
	var body createBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	product, err := keys.ParseProduct(body.Product)
	if err != nil {
		return invalid("%.100s", err)
	}
	rules, err := body.edit(keys.Rules{})
	if err != nil {
		return err
	}
	secret, key, err := s.deps.Issuer.Create(r.Context(), actorOf(r), product, body.Name, body.Environment, rules)
	if err != nil {
		return err
	}
	s.logChange("created", r, key)
	httpjson.Write(w, http.StatusCreated, IssuedAnswer{secret, answerOf(key)})
	return nil
}

func (s *Server) restrict(w http.ResponseWriter, r *http.Request) error {
	product, name, err := keyOf(r)
	if err != nil {
		return err
	}
	var body rulesBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	key, changed, err := s.deps.Issuer.Restrict(r.Context(), actorOf(r), product, name, body.edit)
	if err != nil {
		return err
	}
	if changed {
		s.logChange("restricted", r, key)
	}
	httpjson.Write(w, http.StatusOK, answerOf(key))
	return nil
}

func (s *Server) rotate(w http.ResponseWriter, r *http.Request) error {
	product, name, err := keyOf(r)
	if err != nil {
		return err
	}
	var body graceBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	grace, err := body.duration()
	if err != nil {
		return err
	}
	secret, key, err := s.deps.Issuer.Rotate(r.Context(), actorOf(r), product, name, grace)
	if err != nil {
		return err
	}
	s.logChange("rotated", r, key)
	httpjson.Write(w, http.StatusOK, IssuedAnswer{secret, answerOf(key)})
	return nil
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	product, name, err := keyOf(r)
	if err != nil {
		return err
	}
	var body reasonBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	key, changed, err := s.deps.Issuer.Revoke(r.Context(), actorOf(r), product, name, body.Reason)
	if err != nil {
		return err
	}
	if changed {
		s.logChange("revoked", r, key)
	}
	httpjson.Write(w, http.StatusOK, answerOf(key))
	return nil
}

func (s *Server) logChange(what string, r *http.Request, key *keys.Key) {
	s.deps.Logger.Info("api key changed", "change", what, "product", key.Product, "name", key.ID, "version", key.Version, "by", actorOf(r))
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) error {
	product, name, err := keyOf(r)
	if err != nil {
		return err
	}
	if key, known := s.deps.Live.Key(product, name); known {
		httpjson.Write(w, http.StatusOK, answerOf(key))
		return nil
	}
	for _, entry := range s.deps.Configured.Keys(product) {
		if entry.ID == name {
			httpjson.Write(w, http.StatusOK, configuredOf(entry))
			return nil
		}
	}
	return keys.ErrNoSuchKey
}

// limitOf reads the query parameter limit, 1 to most. Without the parameter it returns most.
func limitOf(r *http.Request, most int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return most, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("limit: %.20q: must be 1 to %d", text, most)
	}
	return n, nil
}

// maxListed and maxChanges bound the keys and the changes in one answer.
const (
	maxListed  = 1000
	maxChanges = 1000
)

// list serves GET /v1/keys?product=&after=&limit=. It lists the issued keys by product and name.
// after is the member next of the answer to the previous page. The keys of the configuration come
// with the first page, in addition to limit.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, maxListed)
	if err != nil {
		return err
	}
	product, after := r.URL.Query().Get("product"), r.URL.Query().Get("after")
	answer := struct {
		Keys []KeyAnswer `json:"keys"`
		Next string      `json:"next,omitempty"`
	}{Keys: []KeyAnswer{}}
	configured := []KeyAnswer{}
	if after == "" {
		for _, p := range keys.Products() {
			for _, entry := range s.deps.Configured.Keys(p) {
				configured = append(configured, configuredOf(entry))
			}
		}
	}
	for _, key := range s.deps.Live.Keys() {
		if subject := string(key.Product) + "/" + key.ID; subject > after {
			if len(answer.Keys) == limit {
				last := answer.Keys[limit-1]
				answer.Next = last.Product + "/" + last.Name
				break
			}
			if product == "" || product == string(key.Product) {
				answer.Keys = append(answer.Keys, answerOf(key))
			}
		}
	}
	for _, key := range configured {
		if product == "" || product == key.Product {
			answer.Keys = append(answer.Keys, key)
		}
	}
	httpjson.Write(w, http.StatusOK, answer)
	return nil
}

// historyPatience bounds one reading of the log of changes, or one request about dead letters.
const historyPatience = 45 * time.Second

// changes serves GET /v1/log?product=&name=&limit=. It answers the newest changes, the oldest of
// them first.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, maxChanges)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	if err := s.reading.Acquire(ctx, 1); err != nil {
		return &publicError{http.StatusServiceUnavailable, "another reading of the log of changes is under way: try again"}
	}
	defer s.reading.Release(1)
	product, name := r.URL.Query().Get("product"), r.URL.Query().Get("name")
	newest := make([]keys.Change, 0, limit) // a ring buffer once it is full
	at := 0                                 // once it is full: the index of the oldest change
	err = s.deps.Live.History(ctx, func(p keys.Product, n string) bool {
		return (product == "" || product == string(p)) && (name == "" || name == n)
	}, func(c keys.Change) {
		if len(newest) < limit {
			newest = append(newest, c)
			return
		}
		newest[at] = c
		at = (at + 1) % limit
	})
	if err != nil {
		s.deps.Logger.Warn("the log of api keys cannot be read", "err", err)
		return &publicError{http.StatusServiceUnavailable, "the log of changes cannot be read now: Kafka does not answer"}
	}
	lines := make([]ChangeAnswer, 0, len(newest))
	for i := range newest {
		lines = append(lines, changeOf(&newest[(at+i)%len(newest)]))
	}
	httpjson.Write(w, http.StatusOK, map[string]any{"changes": lines})
	return nil
}
