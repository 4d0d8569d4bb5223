package stream

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// filter says which transactions a subscriber wants: those that meet all of its conditions, or all
// transactions if it has none. The conditions mean what they mean in Yellowstone. A filter that the
// hub has is never changed.
type filter struct {
	vote, failed *bool
	signature    *signature
	// A transaction's addresses are its accounts, also those from lookup tables, and the token
	// owners that owners selects. include demands that the list contains one of these addresses,
	// required that these addresses contain the whole list, exclude that the list contains none of
	// them. Each list is sorted and has no duplicates.
	include, required, exclude addresses
	// cuckoo is a compressed list that extends include; nil if there is none.
	cuckoo *cuckoo
	owners ownerMode
	// at says when the subscriber gets a transaction.
	at level
	// status asks for a transaction's status only (transactions_status).
	status bool
	// shape is the JSON form for a WebSocket. Transactions of a version above highest come without
	// their content.
	shape   shape
	highest uint8
	// gate holds live transactions back while a replay delivers; nil if there is no replay.
	gate *gate
}

// ownerMode says which owners of token accounts count as addresses of a transaction: Yellowstone's
// token_accounts.
type ownerMode uint8

const (
	ownersNone ownerMode = iota
	// ownersAll is each owner of a token balance before or after the transaction.
	ownersAll
	// ownersChanged is each owner of a token balance whose amount the transaction changes, or that
	// exists only before or only after it.
	ownersChanged
)

// addresses is sorted and has no duplicates.
type addresses []address

func compareAddresses(a, b address) int { return bytes.Compare(a[:], b[:]) }

func (list addresses) has(a address) bool {
	if len(list) <= 4 {
		return slices.Contains(list, a)
	}
	_, ok := slices.BinarySearchFunc(list, a, compareAddresses)
	return ok
}

// count returns how many addresses count for the limits. A cuckoo filter is limited by its bytes
// instead: see maxCuckooBytes.
func (f *filter) count() int { return len(f.include) + len(f.required) + len(f.exclude) }

// indexed returns the addresses under which the filter is put into the index: each transaction that
// it wants has one of them. It returns nil if every transaction must be matched against the filter.
// Of the required addresses one suffices: the one for which frequency returns least.
func (f *filter) indexed(frequency func(address) uint32) addresses {
	switch {
	case len(f.required) > 0:
		rarest := slices.MinFunc(f.required, func(a, b address) int { return int(frequency(a)) - int(frequency(b)) })
		return addresses{rarest}
	case f.cuckoo != nil:
		return nil
	}
	return f.include
}

// wants returns whether t meets all conditions. included says that t is known to meet include. Each
// goroutine passes hashes of its own.
func (f *filter) wants(t *transaction, included bool, hashes *hashCache) bool {
	if f.vote != nil && *f.vote != t.vote || f.failed != nil && *f.failed != t.failed {
		return false
	}
	if f.signature != nil && *f.signature != t.signature {
		return false
	}
	owners := t.ownersOf(f.owners)
	has := func(a address) bool { return slices.Contains(t.accounts, a) || slices.Contains(owners, a) }
	for i := range f.required {
		if !has(f.required[i]) {
			return false
		}
	}
	if !included && (len(f.include) > 0 || f.cuckoo != nil) && !f.includes(t.accounts, owners, hashes) {
		return false
	}
	return len(f.exclude) == 0 || !f.exclude.overlaps(t.accounts) && !f.exclude.overlaps(owners)
}

func (f *filter) includes(accounts, owners []address, hashes *hashCache) bool {
	if len(f.include) > 0 && (f.include.overlaps(accounts) || f.include.overlaps(owners)) {
		return true
	}
	if f.cuckoo == nil {
		return false
	}
	return f.cuckoo.containsAny(hashes.of(f.cuckoo.seed, accounts)) || slices.ContainsFunc(owners, f.cuckoo.contains)
}

func (list addresses) overlaps(others []address) bool { return slices.ContainsFunc(others, list.has) }

// maxFilterName bounds a filter's name in bytes: it comes back with every transaction.
// Yellowstone's own default is 32.
const maxFilterName = 128

// limits bounds one subscriber's filters.
type limits struct{ filters, addresses int }

// namedFilter is a filter with the name that the subscriber gave it.
type namedFilter struct {
	name string
	*filter
}

// readFilters reads the filters of a gRPC request and returns them sorted by name. Its errors name
// the filter and the rule.
func readFilters(list map[string]*pb.SubscribeRequestFilterTransactions, most limits) ([]namedFilter, error) {
	if len(list) > most.filters {
		return nil, fmt.Errorf("%d filters: at most %d", len(list), most.filters)
	}
	count, compressed := 0, 0
	for name, in := range list {
		if len(name) > maxFilterName {
			return nil, fmt.Errorf("filter %.20q…: a name has at most %d bytes", name, maxFilterName)
		}
		if count += len(in.GetAccountInclude()) + len(in.GetAccountExclude()) + len(in.GetAccountRequired()); count > most.addresses {
			return nil, fmt.Errorf("more than %d addresses in all filters", most.addresses)
		}
	}
	filters := make([]namedFilter, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		f, err := readFilter(list[name])
		if err != nil {
			return nil, fmt.Errorf("filter %q: %w", name, err)
		}
		if compressed += f.cuckoo.size(); compressed > maxCuckooBytes {
			return nil, fmt.Errorf("filter %q: cuckoo_account_include: more than %d bytes in all filters", name, maxCuckooBytes)
		}
		filters = append(filters, namedFilter{name, f})
	}
	return filters, nil
}

// maxSignatureText bounds the base58 text of 64 bytes.
const maxSignatureText = 88

// readFilter reads one filter.
func readFilter(in *pb.SubscribeRequestFilterTransactions) (*filter, error) {
	if in == nil {
		return &filter{}, nil
	}
	f := &filter{vote: in.Vote, failed: in.Failed}
	if in.Signature != nil {
		raw, err := base58.Decode(clip(*in.Signature, maxSignatureText))
		if err != nil || len(raw) != len(signature{}) {
			return nil, fmt.Errorf("signature %.20q: must be 64 bytes in base58", *in.Signature)
		}
		f.signature = (*signature)(raw)
	}
	for _, field := range []struct {
		name string
		from []string
		into *addresses
	}{
		{"account_include", in.AccountInclude, &f.include},
		{"account_exclude", in.AccountExclude, &f.exclude},
		{"account_required", in.AccountRequired, &f.required},
	} {
		var err error
		if *field.into, err = readAddresses(field.name, field.from); err != nil {
			return nil, err
		}
	}
	return f, f.readNewer(in)
}

// clip returns text, or an empty text if text is longer than most bytes. The caller refuses an
// empty text as it would refuse the long one, and base58 decoding takes quadratic time.
func clip(text string, most int) string {
	if len(text) > most {
		return ""
	}
	return text
}

func readAddresses(field string, list []string) (addresses, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(addresses, len(list))
	for i, text := range list {
		var err error
		if out[i], err = pubkey.Parse(text); err != nil {
			return nil, fmt.Errorf("%s %.50q: must be a base58 address of 32 bytes", field, text)
		}
	}
	slices.SortFunc(out, compareAddresses)
	return slices.Compact(out), nil
}
