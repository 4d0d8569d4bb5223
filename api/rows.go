package api

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/evidence"
	"github.com/mintlake/mintlake/replica/search"
)

// Names of the members that a row can have besides the fields of a token.
const (
	fieldMatch    = "match"
	fieldEvidence = "evidence"
	fieldLists    = "lists"
	fieldMarket   = "market"
	fieldWindows  = "windows"
)

// rowFields returns the names that the parameter fields accepts: the fields of registry.Token in
// their order, match, evidence, lists, market and windows, the members of the market, and the
// figures of the holders.
func rowFields() []string {
	token := reflect.TypeFor[registry.Token]()
	names := make([]string, 0, token.NumField()+5+len(marketFields)+len(holderFields))
	for i := range token.NumField() {
		name, _, _ := strings.Cut(token.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return slices.Concat(names, []string{fieldMatch, fieldEvidence, fieldLists, fieldMarket, fieldWindows}, marketFields, holderFields)
}

// shape is what a request wants in its rows. With the zero value, a row is a token with all its
// fields and nothing else.
type shape struct {
	explain, evidence, lists, market, windows bool
	// fields are the members that are wanted, nil for all. figures are those of fields that are in
	// marketFields, holders those that are in holderFields.
	fields, figures, holders []string
}

// queryShape reads evidence, lists, market, windows and fields. If explains is set, it also reads
// explain, and fields may have match.
func queryShape(c *fiber.Ctx, explains bool) (s shape, err error) {
	if explains {
		if s.explain, err = queryBoolean(c, "explain", false); err != nil {
			return s, err
		}
	}
	for _, flag := range []struct {
		name   string
		wanted *bool
	}{{fieldEvidence, &s.evidence}, {fieldLists, &s.lists}, {fieldMarket, &s.market}, {fieldWindows, &s.windows}} {
		if *flag.wanted, err = queryBoolean(c, flag.name, false); err != nil {
			return s, err
		}
	}
	if s.fields = queryList(c, "fields"); s.fields == nil {
		return s, nil
	}
	known := rowFields()
	if !explains {
		known = slices.DeleteFunc(known, func(name string) bool { return name == fieldMatch })
	}
	for _, name := range s.fields {
		if !slices.Contains(known, name) {
			return s, invalid("fields", quoted(name), "must be of "+strings.Join(known, ", ")+", several with commas between")
		}
	}
	for _, name := range marketFields {
		if slices.Contains(s.fields, name) {
			s.figures = append(s.figures, name)
		}
	}
	for _, name := range holderFields {
		if slices.Contains(s.fields, name) {
			s.holders = append(s.holders, name)
		}
	}
	// A member is wanted if either its own parameter or fields asks for it.
	s.explain = s.explain || slices.Contains(s.fields, fieldMatch)
	s.evidence = s.evidence || slices.Contains(s.fields, fieldEvidence)
	s.lists = s.lists || slices.Contains(s.fields, fieldLists)
	s.market = s.market || slices.Contains(s.fields, fieldMarket)
	s.windows = s.windows || slices.Contains(s.fields, fieldWindows)
	return s, nil
}

// plain returns whether a row is a token with all its fields and nothing else.
func (s *shape) plain() bool {
	return !s.explain && !s.evidence && !s.lists && !s.market && !s.windows && s.fields == nil
}

// row is a token, with what else was asked for.
type row struct {
	id uint32
	// Either token or its JSON is set.
	token *registry.Token
	json  []byte
	// supply is in whole tokens; nil if unknown. It is set only with json: token has a supply of
	// its own.
	supply *float64
	// kept is the row in the cache; nil if it is not kept there.
	kept *cachedRow
	hit  search.Hit
	// lacksDocument is what the function lacksDocument returned for the token.
	lacksDocument bool
}

// whole returns the supply in whole tokens; nil if unknown.
func (r *row) whole() *float64 {
	if r.token != nil {
		return r.token.WholeSupply()
	}
	return r.supply
}

// appendMarket writes the market of the row, from the cache if the row is kept.
func (r *row) appendMarket(dst []byte, m *replica.Market) []byte {
	if r.kept != nil && m != nil {
		return r.kept.appendMarket(dst, m)
	}
	return appendMarket(dst, m, r.whole())
}

// appendToken writes the token and nothing else.
func (r *row) appendToken(dst []byte) []byte {
	if r.json != nil {
		return append(dst, r.json...)
	}
	return encode.Token(dst, r.token)
}

// rowResponse is a body of one row.
type rowResponse struct {
	row   row
	write rowWriter
}

// rowWriter writes rows in one shape.
type rowWriter struct {
	shape
	index *evidence.Index // nil if there is no evidence, as for a past slot
	// marketOf is Market of the replica; nil if rows have no market, as for a past slot.
	marketOf func(id uint32) *replica.Market
	// holdersOf is Holders of the replica; nil if this node counts no holders, and for a past slot.
	holdersOf func(id uint32) (replica.Holders, bool)
	// listsOf is Lists of the replica, or returns the lists of the fold that the row comes from.
	listsOf func(id uint32) []registry.Listing
	buf     []byte
}

// writer returns a writer of rows as they are now.
func (s *Server) writer(sh shape) rowWriter {
	w := rowWriter{shape: sh, index: s.evidence, marketOf: s.replica.Market, listsOf: s.replica.Lists}
	if s.deps.Balances != nil {
		w.holdersOf = s.replica.Holders
	}
	return w
}

// appendRow writes the token's fields, or those that are wanted, then match, evidence, lists and
// market, and last the single figures of the market and of the holders.
func (w *rowWriter) appendRow(dst []byte, r *row) []byte {
	if w.plain() {
		return r.appendToken(dst)
	}
	if w.fields == nil {
		dst = r.appendToken(dst)
		dst = dst[:len(dst)-1] // without the closing brace: more members follow
	} else {
		w.buf = r.appendToken(w.buf[:0])
		dst = appendMembers(append(dst, '{'), w.buf, w.fields)
	}
	if w.explain {
		dst = appendMatch(appendName(dst, fieldMatch), &r.hit)
	}
	switch {
	case w.evidence && w.index == nil:
		dst = append(appendName(dst, fieldEvidence), "null"...)
	case w.evidence:
		e := w.index.Of(r.id, r.token)
		dst = appendEvidence(appendName(dst, fieldEvidence), &e)
	}
	if w.lists {
		dst = appendLists(appendName(dst, fieldLists), w.listsOf(r.id))
	}
	return append(w.appendHolders(w.appendTrade(dst, r), r), '}')
}

// appendTrade writes the market, its windows, and the single figures of it, each if it is wanted.
func (w *rowWriter) appendTrade(dst []byte, r *row) []byte {
	if !w.market && !w.windows && w.figures == nil {
		return dst
	}
	var market *replica.Market
	if w.marketOf != nil {
		market = w.marketOf(r.id)
	}
	if w.market {
		dst = r.appendMarket(appendName(dst, fieldMarket), market)
	}
	if w.windows {
		dst = appendWindows(appendName(dst, fieldWindows), market)
	}
	switch {
	case w.figures == nil:
	case market == nil:
		for _, name := range w.figures {
			dst = append(appendName(dst, name), "null"...)
		}
	default:
		w.buf = r.appendMarket(w.buf[:0], market)
		dst = appendMembers(dst, w.buf, w.figures)
	}
	return dst
}

func (w *rowWriter) appendRows(dst []byte, rows []row) []byte {
	dst = append(dst, '[')
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendRow(dst, &rows[i])
	}
	return append(dst, ']')
}

// appendName begins a member: a comma, if it is not the first one, and its name.
func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(jsonappend.String(dst, name), ':')
}

// appendMembers copies the wanted members of an object. This package has encoded the object, so it
// has no white space, and no escapes in names.
func appendMembers(dst, object []byte, wanted []string) []byte {
	for at := 1; at < len(object)-1; {
		end := memberEnd(object, at)
		name, _, _ := bytes.Cut(object[at+1:end], []byte{'"'})
		if slices.Contains(wanted, string(name)) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(dst, object[at:end]...)
		}
		at = end + 1
	}
	return dst
}

// memberEnd returns the end of the member that begins at index at: a comma or brace outside of
// strings, arrays and objects.
func memberEnd(object []byte, at int) int {
	depth, quoted := 0, false
	for ; at < len(object); at++ {
		switch c := object[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}'):
			return at
		case c == '}' || c == ']':
			depth--
		}
	}
	return at
}

// tierNames are the values of match.tier. They are part of the API.
var tierNames = [...]string{
	search.TierAll: "all", search.TierMint: "exact_mint", search.TierSymbol: "exact_symbol", search.TierSymbolPrefix: "symbol_prefix",
	search.TierNamePrefix: "name_prefix", search.TierSubstring: "substring", search.TierSimilar: "similar",
}

// fieldNames are the values of match.field. It is null if nothing was compared.
var fieldNames = [...]string{search.FieldMint: "mint", search.FieldSymbol: "symbol", search.FieldName: "name"}

// scoreSteps rounds a score, which is from 0 to 1, to four decimals.
const scoreSteps = 1e4

func appendMatch(dst []byte, hit *search.Hit) []byte {
	dst = jsonappend.String(append(dst, `{"tier":`...), tierNames[hit.Tier])
	dst = append(dst, `,"field":`...)
	if hit.Field == search.FieldNone {
		dst = append(dst, "null"...)
	} else {
		dst = jsonappend.String(dst, fieldNames[hit.Field])
	}
	dst = strconv.AppendFloat(append(dst, `,"score":`...), math.Round(hit.Score*scoreSteps)/scoreSteps, 'f', -1, 64)
	return append(dst, '}')
}

func appendEvidence(dst []byte, e *evidence.Evidence) []byte {
	dst = append(dst, '{')
	if e.Skeleton == "" {
		dst = append(dst, `"skeleton":null,"sharing":0,"rank_by_volume":null,"rank_by_age":null,"canonical":null`...)
	} else {
		dst = jsonappend.String(append(dst, `"skeleton":`...), e.Skeleton)
		dst = strconv.AppendInt(append(dst, `,"sharing":`...), int64(e.Sharing), 10)
		dst = strconv.AppendInt(append(dst, `,"rank_by_volume":`...), int64(e.RankByVolume), 10)
		dst = strconv.AppendInt(append(dst, `,"rank_by_age":`...), int64(e.RankByAge), 10)
		dst = encode.Mint(append(dst, `,"canonical":`...), e.Canonical)
	}
	dst = append(dst, `,"signals":[`...)
	for i, signal := range e.Signals {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.String(dst, string(signal))
	}
	return append(dst, `]}`...)
}
