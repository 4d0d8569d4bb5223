package stream

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// oracle is a transaction filter as Yellowstone's README describes it, asked of one transaction
// after the other and of decoded messages. It shares no code with the index.
type oracle struct {
	*pb.SubscribeRequestFilterTransactions
	cuckoo *cuckooBuilder
	// tokens is token_accounts: -1 for none, 0 for ALL, 1 for BALANCE_CHANGED.
	tokens int

	book                       *book
	include, exclude, required []int
	asked, found               numberSet
}

// request is the filter as a client sends it.
func (o *oracle) request() *pb.SubscribeRequestFilterTransactions {
	f := &pb.SubscribeRequestFilterTransactions{Vote: o.Vote, Failed: o.Failed, Signature: o.Signature,
		AccountInclude: o.AccountInclude, AccountExclude: o.AccountExclude, AccountRequired: o.AccountRequired}
	if o.cuckoo != nil {
		f.CuckooAccountInclude = o.cuckoo.proto().message()
	}
	if o.tokens >= 0 {
		f.TokenAccounts = pb.TokenAccountExpansionControlFlag(o.tokens).Enum()
	}
	return f
}

// book numbers addresses by their base58, so that sets of them are bits: the oracle asks each
// filter about each transaction.
type book struct {
	numbers map[string]int
	raw     [][]byte
}

func (b *book) number(a string) int {
	n, ok := b.numbers[a]
	if !ok {
		n = len(b.raw)
		b.numbers[a] = n
		raw, _ := base58.Decode(a)
		b.raw = append(b.raw, raw)
	}
	return n
}

func (b *book) all(list []string) (numbers []int) {
	for _, a := range list {
		numbers = append(numbers, b.number(a))
	}
	return numbers
}

type numberSet []uint64

func (s *numberSet) add(n int) {
	for n/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

func (s numberSet) has(n int) bool { return n/64 < len(s) && s[n/64]&(1<<(n%64)) != 0 }

// seenTransaction is what the oracle looks at, decoded once for all filters.
type seenTransaction struct {
	*pb.SubscribeUpdateTransactionInfo
	signature string
	// accounts, and with the owners that count for ALL and BALANCE_CHANGED.
	sets [3]numberSet
	// list is all of the second.
	list []int
}

func seeTransaction(b *book, x *pb.SubscribeUpdateTransactionInfo) *seenTransaction {
	s := &seenTransaction{SubscribeUpdateTransactionInfo: x, signature: base58.Encode(x.Signature)}
	add := func(a string, sets ...int) {
		n := b.number(a)
		for _, i := range sets {
			s.sets[i].add(n)
		}
		s.list = append(s.list, n)
	}
	for _, list := range [][][]byte{x.Transaction.Message.AccountKeys, x.Meta.LoadedWritableAddresses, x.Meta.LoadedReadonlyAddresses} {
		for _, k := range list {
			add(base58.Encode(k), 0, 1, 2)
		}
	}
	// "BALANCE_CHANGED matches an owner when its token balance changes. It also matches when a
	// token account is created or closed."
	amount := func(list []*pb.TokenBalance, account uint32) string {
		for _, b := range list {
			if b.AccountIndex == account && b.Owner != "" {
				return "has " + b.UiTokenAmount.GetAmount()
			}
		}
		return "none"
	}
	for _, b := range append(slices.Clone(x.Meta.PreTokenBalances), x.Meta.PostTokenBalances...) {
		if b.Owner == "" {
			continue
		}
		add(b.Owner, 1)
		if amount(x.Meta.PreTokenBalances, b.AccountIndex) != amount(x.Meta.PostTokenBalances, b.AccountIndex) {
			add(b.Owner, 2)
		}
	}
	return s
}

func (o *oracle) selects(x *seenTransaction) bool {
	set := x.sets[o.tokens+1]
	if o.Vote != nil && *o.Vote != x.IsVote {
		return false
	}
	if o.Failed != nil && *o.Failed != (x.Meta.Err != nil) {
		return false
	}
	if o.Signature != nil && *o.Signature != x.signature {
		return false
	}
	if (len(o.include) > 0 || o.cuckoo != nil) && !slices.ContainsFunc(o.include, set.has) && !slices.ContainsFunc(x.list, func(n int) bool {
		return o.cuckoo != nil && set.has(n) && o.compressed(n)
	}) {
		return false
	}
	return !slices.ContainsFunc(o.exclude, set.has) && !slices.ContainsFunc(o.required, func(n int) bool { return !set.has(n) })
}

// compressed says whether the compressed filter has an address.
func (o *oracle) compressed(n int) bool {
	if !o.asked.has(n) {
		o.asked.add(n)
		if o.cuckoo.contains(o.book.raw[n]) {
			o.found.add(n)
		}
	}
	return o.found.has(n)
}

// randomFilters makes filters whose addresses are mostly those of the transactions: programs that
// most have, accounts that one has, owners.
type randomFilters struct {
	*rand.Rand
	book                         *book
	accounts, owners, signatures []string
	common                       []string
}

func newRandomFilters(seed uint64, b *book, list []*seenTransaction) *randomFilters {
	r := &randomFilters{Rand: rand.New(rand.NewPCG(seed, 1)), book: &book{maps.Clone(b.numbers), slices.Clone(b.raw)}}
	often := make([]int, len(b.raw))
	for _, x := range list {
		r.signatures = append(r.signatures, x.signature)
		for _, n := range x.list {
			often[n]++
			if x.sets[1].has(n) && !x.sets[0].has(n) {
				r.owners = append(r.owners, base58.Encode(b.raw[n]))
			}
		}
	}
	for n, times := range often {
		r.accounts = append(r.accounts, base58.Encode(b.raw[n]))
		if times > len(list)/50 {
			r.common = append(r.common, base58.Encode(b.raw[n]))
		}
	}
	return r
}

func (r *randomFilters) address() string {
	switch r.IntN(10) {
	case 0:
		a := randomKey(r.Rand)
		return base58.Encode(a[:])
	case 1, 2:
		return r.common[r.IntN(len(r.common))]
	case 3, 4:
		return r.owners[r.IntN(len(r.owners))]
	}
	return r.accounts[r.IntN(len(r.accounts))]
}

func (r *randomFilters) addresses(most int) (list []string) {
	for range r.IntN(most + 1) {
		list = append(list, r.address())
	}
	return list
}

func (r *randomFilters) flag() *bool {
	switch r.IntN(5) {
	case 0:
		return yes()
	case 1, 2:
		return no()
	}
	return nil
}

func (r *randomFilters) filter() *oracle {
	o := &oracle{SubscribeRequestFilterTransactions: &pb.SubscribeRequestFilterTransactions{Vote: r.flag(), Failed: r.flag()}, tokens: -1, book: r.book}
	if r.IntN(4) > 0 {
		o.AccountInclude = r.addresses([]int{1, 5, 20, 200}[r.IntN(4)])
	}
	if r.IntN(3) == 0 {
		o.AccountRequired = r.addresses(2)
	}
	if r.IntN(3) == 0 {
		o.AccountExclude = r.addresses(5)
	}
	if r.IntN(30) == 0 {
		o.Signature = &r.signatures[r.IntN(len(r.signatures))]
	}
	if r.IntN(4) == 0 {
		o.tokens = r.IntN(2)
	}
	if r.IntN(16) == 0 {
		list := r.addresses(60)
		o.cuckoo = newCuckooBuilder(100, []uint64{defaultSeed, defaultSeed, defaultSeed, r.Uint64()}[r.IntN(4)])
		for _, a := range list {
			raw, _ := base58.Decode(a)
			o.cuckoo.insert(raw)
		}
	}
	o.include, o.exclude, o.required = r.book.all(o.AccountInclude), r.book.all(o.AccountExclude), r.book.all(o.AccountRequired)
	return o
}

// seen decodes a list for the oracle.
func seen(list []*pb.SubscribeUpdateTransaction) (*book, []*seenTransaction) {
	b := &book{numbers: map[string]int{}}
	var out []*seenTransaction
	for _, x := range list {
		out = append(out, seeTransaction(b, x.Transaction))
	}
	return b, out
}

// parsed reads a list as the feed does.
func parsed(t testing.TB, list []*pb.SubscribeUpdateTransaction) (out []*transaction) {
	t.Helper()
	for _, x := range list {
		p, err := parseRecord(recordOf(x))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func (o *oracle) String() string {
	return fmt.Sprintf("vote %v failed %v signature %v include %d required %v exclude %v cuckoo %v tokens %d", o.GetVote(), o.GetFailed(),
		o.Signature, len(o.AccountInclude), o.AccountRequired, o.AccountExclude, o.cuckoo != nil, o.tokens)
}
