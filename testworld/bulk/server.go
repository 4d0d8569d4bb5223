package bulk

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// options are what a call of either method may set.
type options struct {
	jsonrpc.AccountOptions
	Limit         int     `json:"limit"`
	PaginationKey *string `json:"paginationKey"`
}

// Server serves a chain as a node does.
type Server struct {
	Chain *Chain
	// Before may answer a request itself; then it returns true. number counts the requests from 1.
	Before func(number int64, method string, w http.ResponseWriter) bool
	// CutAfter returns after how many accounts the connection of a request is broken; -1: never.
	CutAfter func(number int64) int
	// MaxAccounts makes the server refuse larger answers; 0: no answer is too large.
	MaxAccounts int
	// ContextLast puts the slot after the accounts; WithoutContext leaves it out. Both are for
	// getProgramAccounts only.
	ContextLast, WithoutContext bool

	// Requests and Served count requests and the accounts sent.
	Requests atomic.Int64
	Served   atomic.Int64
}

// ServeHTTP answers getProgramAccounts and getProgramAccountsV2.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number := s.Requests.Add(1)
	var req struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	var program string
	var opts options
	if json.NewDecoder(r.Body).Decode(&req) != nil || len(req.Params) != 2 || json.Unmarshal(req.Params[0], &program) != nil ||
		json.Unmarshal(req.Params[1], &opts) != nil || opts.Encoding != "base64" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if s.Before != nil && s.Before(number, req.Method, w) {
		return
	}
	found, err := s.Chain.find(program, opts.Filters)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.MaxAccounts > 0 && len(found) > s.MaxAccounts && req.Method == "getProgramAccounts" {
		_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32012,"message":"accumulated scan results exceeded the limit"},"id":1}`)
		return
	}
	cut := -1
	if s.CutAfter != nil {
		cut = s.CutAfter(number)
	}
	a := &answerWriter{server: s, out: bufio.NewWriterSize(w, 64<<10), program: program, opts: opts, cut: cut}
	if req.Method == "getProgramAccountsV2" {
		a.page(found)
	} else {
		a.all(found)
	}
}

// entry is an account of the chain: a mint, or its metadata.
type entry struct {
	number   uint32
	metadata bool
}

// find returns the accounts that pass the filters. It looks only into the index's bucket for the
// first byte of the field that cuts shards, if a filter is for that.
func (c *Chain) find(program string, filters []jsonrpc.Filter) ([]entry, error) {
	kinds, cutField := []string{kindSPL}, uint64(4)
	switch program {
	case schemas.ProgramToken:
	case schemas.ProgramToken2022:
		kinds = []string{kindExtended, kindPlain}
	case schemas.ProgramMetaplex:
		kinds, cutField = []string{kindMetadata}, 33
	default:
		return nil, fmt.Errorf("unknown program %s", program)
	}
	matches, err := jsonrpc.Filters(filters)
	if err != nil {
		return nil, err
	}
	low, high := 0, 255
	for _, filter := range filters {
		if filter.Memcmp == nil || filter.Memcmp.Offset != cutField {
			continue
		}
		value, err := filter.Memcmp.Value()
		if err != nil {
			return nil, err
		}
		if len(value) > 0 {
			low, high = int(value[0]), int(value[0])
		}
	}
	var found []entry
	var data []byte
	for _, kind := range kinds {
		for first := low; first <= high; first++ {
			for _, n := range c.index[kind][first] {
				e := entry{n, kind == kindMetadata}
				data = e.data(data[:0])
				if matches(data) {
					found = append(found, e)
				}
			}
		}
	}
	return found, nil
}

func (e entry) data(out []byte) []byte {
	if e.metadata {
		return metadataData(e.number, out)
	}
	return mintData(e.number, out)
}

type answerWriter struct {
	server  *Server
	out     *bufio.Writer
	program string
	opts    options
	cut     int
	data    []byte
	line    []byte
}

func (a *answerWriter) context() string {
	if a.server.WithoutContext || !a.opts.WithContext {
		return ""
	}
	return fmt.Sprintf(`"context":{"apiVersion":%q,"slot":%d}`, jsonrpc.SolanaVersion, a.server.Chain.Slot)
}

func (a *answerWriter) all(found []entry) {
	context := a.context()
	switch {
	case context == "":
		_, _ = a.out.WriteString(`{"jsonrpc":"2.0","result":`)
		a.accounts(found)
		_, _ = a.out.WriteString(`,"id":1}`)
	case a.server.ContextLast:
		_, _ = a.out.WriteString(`{"jsonrpc":"2.0","result":{"value":`)
		a.accounts(found)
		_, _ = a.out.WriteString("," + context + `},"id":1}`)
	default:
		_, _ = a.out.WriteString(`{"jsonrpc":"2.0","result":{` + context + `,"value":`)
		a.accounts(found)
		_, _ = a.out.WriteString(`},"id":1}`)
	}
	_ = a.out.Flush()
}

func (a *answerWriter) page(found []entry) {
	start := 0
	if a.opts.PaginationKey != nil {
		start, _ = strconv.Atoi(*a.opts.PaginationKey)
	}
	end := min(start+a.opts.Limit, len(found))
	key := "null"
	if end < len(found) {
		key = strconv.Quote(strconv.Itoa(end))
	}
	_, _ = a.out.WriteString(`{"jsonrpc":"2.0","result":{` + a.context() + `,"value":{"accounts":`)
	a.accounts(found[start:end])
	_, _ = a.out.WriteString(`,"paginationKey":` + key + `,"totalResults":7}},"id":1}`)
	_ = a.out.Flush()
}

func (a *answerWriter) accounts(found []entry) {
	_ = a.out.WriteByte('[')
	for i, e := range found {
		if i == a.cut {
			_ = a.out.Flush()
			panic(http.ErrAbortHandler)
		}
		if i > 0 {
			_ = a.out.WriteByte(',')
		}
		a.account(e)
	}
	_ = a.out.WriteByte(']')
}

func (a *answerWriter) account(e entry) {
	a.data = e.data(a.data[:0])
	part := a.opts.DataSlice.Of(a.data)
	key := madeUp("mint", e.number)
	if e.metadata {
		key = metadataAddress(e.number)
	}
	a.line = append(a.line[:0], `{"account":{"data":["`...)
	a.line = base64.StdEncoding.AppendEncode(a.line, part)
	a.line = append(a.line, `","base64"],"executable":false,"lamports":1066800,"owner":"`...)
	a.line = append(a.line, a.program...)
	a.line = append(a.line, `","rentEpoch":18446744073709551615,"space":`...)
	a.line = strconv.AppendInt(a.line, int64(len(a.data)), 10)
	a.line = append(a.line, `},"pubkey":"`...)
	a.line = append(a.line, base58.Encode(key[:])...)
	a.line = append(a.line, `"}`...)
	_, _ = a.out.Write(a.line)
	a.server.Served.Add(1)
}
