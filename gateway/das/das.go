// Package das answers, from the registry, the methods of the Digital Asset Standard (DAS) that are
// about fungible tokens: getAsset, getAssets, getAssetBatch, searchAssets and getAssetsByOwner with
// tokenType fungible, and getTokenAccounts of an owner.
//
// In: calls of the JSON-RPC gateway; rows of the token API over HTTP. Out: assets in the shape of
// the standard, as github.com/metaplex-foundation/digital-asset-rpc-infrastructure has it.
// Guarantees: what a fungible token does not have, or the registry does not know, is absent and not
// invented. Only ownership is always there, because the types of clients demand it: if no owner was
// asked for, its owner is empty. The upstreams answer for assets that are not in the registry, for
// searches by what the registry does not know, and for owners of whom not all accounts are known.
// Calls in flight, their time and the API's answers are bounded.
//
// The API is called over HTTP, because the gateway may run in a process of its own. The API
// recognizes the gateway by a token and does not limit it: the gateway limits its callers by their
// keys.
package das

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// timeout bounds one request to the API.
const timeout = 10 * time.Second

// Config of the methods. Zero values take the defaults named at each field.
type Config struct {
	// API is the token API's URL, http(s)://host:port. Required.
	API string
	// Token is the token by which the API recognizes the gateway: see access/internaltoken.
	// Without it the API's public limits apply to all callers together.
	Token string
	// maxAtOnce bounds the calls that are answered from the registry at one time. It also bounds,
	// separately, the calls that wait for an upstream. Further calls wait. Default 32.
	maxAtOnce int
	// maxBytes bounds one answer of the API; 500 rows take some 500 KB. Default 16 MiB.
	maxBytes int64
}

// Deps are the collaborators. Both may be nil.
type Deps struct {
	// Transport sends the requests to the API. Default: a connection pool of the server's own.
	Transport  http.RoundTripper
	Registerer prometheus.Registerer
}

// Server answers DAS methods.
type Server struct {
	cfg    Config
	client http.Client
	// calls bounds the calls that are answered from the registry at one time. asks bounds the calls
	// that wait for an upstream.
	calls, asks *semaphore.Weighted
	metrics     *metrics
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg.maxAtOnce = cmp.Or(max(cfg.maxAtOnce, 0), 32)
	cfg.maxBytes = cmp.Or(max(cfg.maxBytes, 0), 16<<20)
	base, err := url.Parse(cfg.API)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" {
		return nil, errors.New("das: the token API's address must be http(s)://host:port (--rpc-das-api)")
	}
	cfg.API = strings.TrimSuffix(cfg.API, "/")
	s := &Server{cfg: cfg, calls: semaphore.NewWeighted(int64(cfg.maxAtOnce)), asks: semaphore.NewWeighted(int64(cfg.maxAtOnce)), client: http.Client{
		Transport: deps.Transport, Timeout: timeout,
		// A redirect would send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if deps.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Proxy, transport.MaxIdleConnsPerHost = nil, cfg.maxAtOnce
		s.client.Transport = transport
	}
	if s.metrics, err = newMetrics(deps.Registerer); err != nil {
		return nil, fmt.Errorf("das: %w", err)
	}
	return s, nil
}

// The methods. getAssetBatch is another name of getAssets.
const (
	getAsset      = "getAsset"
	getAssets     = "getAssets"
	getAssetBatch = "getAssetBatch"
	searchAssets  = "searchAssets"
	// getTokenAccounts is no method of the standard, but other providers have it. It lists the
	// accounts of an owner, of a mint, or of an owner and a mint.
	getTokenAccounts = "getTokenAccounts"
	getAssetsByOwner = "getAssetsByOwner"
)

// Methods implements jsonrpc.Local.
func (s *Server) Methods() []string {
	return []string{getAsset, getAssets, getAssetBatch, searchAssets, getTokenAccounts, getAssetsByOwner}
}

// Answer implements jsonrpc.Local.
func (s *Server) Answer(ctx context.Context, method string, params json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	held := place{}
	if err := held.move(ctx, s.calls); err != nil {
		return nil, err
	}
	defer held.leave()
	if upstreams := ask; ask != nil {
		ask = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
			if err := held.move(ctx, s.asks); err != nil {
				return nil, nil, err
			}
			return upstreams(ctx, method, params)
		}
	}
	// Of the other methods, the positions of parameters are not known here. The upstreams may know
	// them.
	if method != getAsset && method != getAssets && method != getAssetBatch && ask != nil && isList(params) {
		return nil, jsonrpc.ErrElsewhere
	}
	members, err := named(method, params)
	if err != nil {
		return nil, err
	}
	switch method {
	case getAsset:
		return s.getAsset(ctx, params, members, ask)
	case searchAssets:
		return s.searchAssets(ctx, members, ask)
	case getTokenAccounts:
		return s.getTokenAccounts(ctx, members, ask)
	case getAssetsByOwner:
		if !isFungible(members["tokenType"]) {
			return nil, refuse(ask, "getAssetsByOwner without tokenType fungible lists NFTs and compressed assets too, which the registry does not have")
		}
		return s.searchOwned(ctx, method, members, ask)
	}
	return s.getAssets(ctx, method, members, ask)
}

// place is the place that a call holds in a semaphore; nil for none. Before a call asks an
// upstream, which may take long, it moves from Server.calls to Server.asks. So calls that the
// registry answers do not wait for upstreams.
type place struct{ in *semaphore.Weighted }

// move leaves the semaphore and waits for a place in another one. After an error the call holds no
// place.
func (p *place) move(ctx context.Context, to *semaphore.Weighted) error {
	p.leave()
	if err := to.Acquire(ctx, 1); err != nil {
		return err
	}
	p.in = to
	return nil
}

func (p *place) leave() {
	if p.in != nil {
		p.in.Release(1)
		p.in = nil
	}
}

// errNotFound is the reference implementation's error, shortened.
var errNotFound = &jsonrpc.CallError{Code: -32000, Message: "Asset Not Found"}

// getAsset answers from the registry. For an asset that the registry does not have, it asks the
// upstreams.
func (s *Server) getAsset(ctx context.Context, params json.RawMessage, members map[string]json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	id, err := addressOf(members["id"], "id")
	if err != nil {
		return nil, err
	}
	found, err := s.tokens(ctx, []pubkey.Key{id})
	if err != nil {
		return nil, err
	}
	if t := found[id]; t != nil {
		return encode(t.asset())
	}
	if ask == nil {
		return nil, errNotFound
	}
	result, failure, err := ask(ctx, getAsset, params)
	switch {
	case err != nil:
		return nil, err
	case failure != nil && failure.Code == message.CodeNoMethod:
		return nil, errNotFound // the upstreams do not support DAS
	case failure != nil:
		return nil, failure
	}
	return result, nil
}

// getAssets answers in the order of the ids, with null for an asset that neither the registry nor
// an upstream has.
func (s *Server) getAssets(ctx context.Context, method string, members map[string]json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	ids, err := addressesOf(members["ids"])
	if err != nil {
		return nil, err
	}
	found, err := s.tokens(ctx, ids)
	if err != nil {
		return nil, err
	}
	missing, elsewhere := missingOf(ids, found), map[pubkey.Key]json.RawMessage{}
	if len(missing) > 0 && ask != nil {
		if elsewhere, err = askForAssets(ctx, method, members, missing, ask); err != nil {
			return nil, err
		}
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		if t := found[id]; t != nil {
			list[i] = t.asset()
		} else if raw, ok := elsewhere[id]; ok {
			list[i] = raw
		}
	}
	return encode(list)
}

// missingOf returns the ids that were not found, each once.
func missingOf(ids []pubkey.Key, found map[pubkey.Key]*token) []pubkey.Key {
	missing, seen := []pubkey.Key{}, map[pubkey.Key]bool{}
	for _, id := range ids {
		if found[id] == nil && !seen[id] {
			seen[id] = true
			missing = append(missing, id)
		}
	}
	return missing
}

// askForAssets asks the upstreams for assets that the registry does not have. It returns the assets
// that the upstreams have, by id. If the upstreams do not support DAS, it returns none.
func askForAssets(ctx context.Context, method string, members map[string]json.RawMessage, ids []pubkey.Key, ask jsonrpc.Ask) (map[pubkey.Key]json.RawMessage, error) {
	asked := map[string]any{"ids": ids}
	for name, value := range members {
		if name != "ids" {
			asked[name] = value
		}
	}
	params, err := encode(asked)
	if err != nil {
		return nil, err
	}
	result, failure, err := ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, err
	case failure != nil && failure.Code == message.CodeNoMethod:
		return nil, nil
	case failure != nil:
		return nil, failure
	}
	var list []json.RawMessage
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, &jsonrpc.CallError{Code: message.CodeUnavailable, Status: http.StatusBadGateway, Message: "an upstream's answer is no list of assets"}
	}
	found := map[pubkey.Key]json.RawMessage{}
	for _, raw := range list {
		var asset struct {
			ID *pubkey.Key `json:"id"`
		}
		if json.Unmarshal(raw, &asset) == nil && asset.ID != nil {
			found[*asset.ID] = raw
		}
	}
	return found, nil
}

func encode(value any) (json.RawMessage, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode assets: %w", err)
	}
	return body, nil
}
