package stream

import (
	"fmt"
	"slices"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/internal/tokenaccount"
)

// filter says which transactions a subscriber wants: those for which all of its conditions hold. Without conditions it is all of them. The meaning is
// Yellowstone's.
type filter struct {
	vote, failed *bool
	signature    *signature
	// include wants one of these among the transaction's accounts, required all of them, exclude none. Accounts from lookup tables count.
	include, exclude map[address]bool
	required         []address
}

func (f *filter) matches(t *transaction) bool {
	if f.vote != nil && *f.vote != t.vote || f.failed != nil && *f.failed != t.failed {
		return false
	}
	if f.signature != nil && *f.signature != t.signature {
		return false
	}
	if len(f.include) > 0 && !slices.ContainsFunc(t.accounts, func(a address) bool { return f.include[a] }) {
		return false
	}
	if len(f.exclude) > 0 && slices.ContainsFunc(t.accounts, func(a address) bool { return f.exclude[a] }) {
		return false
	}
	for _, a := range f.required {
		if !slices.Contains(t.accounts, a) {
			return false
		}
	}
	return true
}

// maxFilterName bounds a filter's name in bytes: it comes back with every transaction. Yellowstone's own default is 32.
const maxFilterName = 128

// limits of one subscriber's filters.
type limits struct{ filters, addresses int }

// filterSet is a subscriber's filters by name, in the order of the names.
type filterSet struct {
	names   []string
	filters []*filter
}

// newFilterSet reads filters as they came over gRPC. Errors say which filter and which rule.
func newFilterSet(list map[string]*pb.SubscribeRequestFilterTransactions, most limits) (*filterSet, error) {
	if len(list) > most.filters {
		return nil, fmt.Errorf("%d filters: at most %d", len(list), most.filters)
	}
	set := &filterSet{}
	addresses := 0
	for name, in := range list {
		if len(name) > maxFilterName {
			return nil, fmt.Errorf("filter %.20q…: a name has at most %d bytes", name, maxFilterName)
		}
		if addresses += len(in.GetAccountInclude()) + len(in.GetAccountExclude()) + len(in.GetAccountRequired()); addresses > most.addresses {
			return nil, fmt.Errorf("more than %d addresses in all filters", most.addresses)
		}
		set.names = append(set.names, name)
	}
	slices.Sort(set.names)
	for _, name := range set.names {
		f, err := newFilter(list[name])
		if err != nil {
			return nil, fmt.Errorf("filter %q: %w", name, err)
		}
		set.filters = append(set.filters, f)
	}
	return set, nil
}

func newFilter(in *pb.SubscribeRequestFilterTransactions) (*filter, error) {
	if in == nil {
		return &filter{}, nil
	}
	f := &filter{vote: in.Vote, failed: in.Failed}
	if in.Signature != nil {
		raw, err := base58.Decode(clip(*in.Signature, 88))
		if err != nil || len(raw) != len(signature{}) {
			return nil, fmt.Errorf("signature %.20q: must be 64 bytes in base58", *in.Signature)
		}
		f.signature = (*signature)(raw)
	}
	var err error
	if f.include, err = addressSet("account_include", in.AccountInclude); err != nil {
		return nil, err
	}
	if f.exclude, err = addressSet("account_exclude", in.AccountExclude); err != nil {
		return nil, err
	}
	required, err := addressSet("account_required", in.AccountRequired)
	if err != nil {
		return nil, err
	}
	for a := range required {
		f.required = append(f.required, a)
	}
	return f, nil
}

// clip makes a text that is too long invalid in bounded time: base58 decoding is quadratic.
func clip(text string, most int) string {
	if len(text) > most {
		return ""
	}
	return text
}

func addressSet(field string, list []string) (map[address]bool, error) {
	if len(list) == 0 {
		return nil, nil
	}
	set := make(map[address]bool, len(list))
	for _, text := range list {
		key, err := tokenaccount.ParseKey(clip(text, 44))
		if err != nil {
			return nil, fmt.Errorf("%s %.50q: must be a base58 address of 32 bytes", field, text)
		}
		set[address(key)] = true
	}
	return set, nil
}

// match returns the names of the filters that want t.
func (s *filterSet) match(t *transaction) []string {
	var names []string
	for i, f := range s.filters {
		if f.matches(t) {
			names = append(names, s.names[i])
		}
	}
	return names
}
