package geyser

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"sort"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// Bounds of a subscription, so that a hostile request costs little.
const (
	maxFilters       = 64
	maxKeys          = 10_000
	maxAccountChecks = 4   // conditions of one account filter, as in the real server
	maxMemcmp        = 128 // bytes that a condition compares
)

type keySet map[chain.Key]struct{}

// parseKeys reads a list of base58 keys, of at most maxKeys.
func parseKeys(list []string) (keySet, error) {
	if len(list) > maxKeys {
		return nil, fmt.Errorf("%d keys, at most %d", len(list), maxKeys)
	}
	set := make(keySet, len(list))
	for _, s := range list {
		k, err := pubkey.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("invalid pubkey %q: %w", s, err)
		}
		set[k] = struct{}{}
	}
	return set, nil
}

func (s keySet) any(keys []chain.Key) bool {
	for _, k := range keys {
		if _, ok := s[k]; ok {
			return true
		}
	}
	return false
}

// all returns whether every key of the set is among keys.
func (s keySet) all(keys []chain.Key) bool {
	found := keySet{}
	for _, k := range keys {
		if _, ok := s[k]; ok {
			found[k] = struct{}{}
		}
	}
	return len(found) == len(s)
}

type slotFilter struct {
	name                  string
	byCommitment, interim bool
}

type txFilter struct {
	name                       string
	vote, failed               *bool
	signature                  []byte
	include, exclude, required keySet
}

type blockFilter struct {
	name                   string
	include                keySet
	txs, accounts, entries bool
}

type accountFilter struct {
	name             string
	accounts, owners keySet
	size             *uint64
	tokenState       bool
	memcmp           []memcmp
	lamports         []*pb.SubscribeRequestFilterAccountsFilterLamports
	signed           *bool
}

type memcmp struct {
	offset uint64
	data   []byte
}

// filter is a subscription request, checked and compiled.
type filter struct {
	commitment ledger.Commitment
	slots      []slotFilter
	txs        []txFilter
	statuses   []txFilter
	blocks     []blockFilter
	accounts   []accountFilter
	metas      []string
	entries    []string
	slices     []*pb.SubscribeRequestAccountsDataSlice
}

// refused are conditions that this server does not have.
var refused = yellowstone.Refused{
	"geyser.SubscribeRequest.block_footer", "geyser.SubscribeRequestFilterEntry.include_update_parent",
	"geyser.SubscribeRequestFilterAccounts.cuckoo_accounts_filter", "geyser.SubscribeRequestFilterBlocks.cuckoo_account_include",
	"geyser.SubscribeRequestFilterTransactions.cuckoo_account_include", "geyser.SubscribeRequestFilterTransactions.token_accounts",
}

func newFilter(req *pb.SubscribeRequest) (*filter, error) {
	if err := refused.UnknownField(req); err != nil {
		return nil, err
	}
	n := len(req.GetSlots()) + len(req.GetTransactions()) + len(req.GetTransactionsStatus()) + len(req.GetBlocks()) + len(req.GetBlocksMeta()) +
		len(req.GetEntry()) + len(req.GetAccounts())
	if n > maxFilters {
		return nil, fmt.Errorf("%d filters, at most %d", n, maxFilters)
	}
	f := &filter{slices: req.GetAccountsDataSlice()}
	c, err := commitment(req.Commitment)
	if err != nil {
		return nil, err
	}
	f.commitment = c
	for _, name := range names(req.GetSlots()) {
		s := req.Slots[name]
		f.slots = append(f.slots, slotFilter{name, s.GetFilterByCommitment(), s.GetInterslotUpdates()})
	}
	f.metas, f.entries = names(req.GetBlocksMeta()), names(req.GetEntry())
	if f.txs, err = txFilters(req.GetTransactions()); err != nil {
		return nil, fmt.Errorf("transactions: %w", err)
	}
	if f.statuses, err = txFilters(req.GetTransactionsStatus()); err != nil {
		return nil, fmt.Errorf("transactions_status: %w", err)
	}
	for _, name := range names(req.GetBlocks()) {
		b := req.Blocks[name]
		set, err := parseKeys(b.GetAccountInclude())
		if err != nil {
			return nil, fmt.Errorf("blocks: %w", err)
		}
		f.blocks = append(f.blocks, blockFilter{name, set, b.IncludeTransactions == nil || *b.IncludeTransactions, b.GetIncludeAccounts(), b.GetIncludeEntries()})
	}
	if f.accounts, err = accountFilters(req.GetAccounts()); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return f, nil
}

func names[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// commitment reads the commitment asked for; processed if none is.
func commitment(c *pb.CommitmentLevel) (ledger.Commitment, error) {
	if c == nil {
		return ledger.Processed, nil
	}
	switch *c {
	case pb.CommitmentLevel_PROCESSED:
		return ledger.Processed, nil
	case pb.CommitmentLevel_CONFIRMED:
		return ledger.Confirmed, nil
	case pb.CommitmentLevel_FINALIZED:
		return ledger.Finalized, nil
	}
	return 0, fmt.Errorf("failed to create CommitmentLevel from %d", *c)
}

func txFilters(m map[string]*pb.SubscribeRequestFilterTransactions) (out []txFilter, err error) {
	for _, name := range names(m) {
		r := m[name]
		t := txFilter{name: name, vote: r.Vote, failed: r.Failed}
		if r.Signature != nil {
			if t.signature, err = base58.Decode(*r.Signature); err != nil || len(t.signature) != 64 {
				return nil, errors.New("invalid signature")
			}
		}
		if t.include, err = parseKeys(r.GetAccountInclude()); err != nil {
			return nil, err
		}
		if t.exclude, err = parseKeys(r.GetAccountExclude()); err != nil {
			return nil, err
		}
		if t.required, err = parseKeys(r.GetAccountRequired()); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// match returns whether a transaction that names keys meets every condition that is set.
func (t *txFilter) match(tx *chain.Tx, keys []chain.Key) bool {
	switch {
	case t.vote != nil && *t.vote != tx.Vote,
		t.failed != nil && *t.failed != (tx.Meta.Err != nil),
		t.signature != nil && !bytes.Equal(t.signature, tx.Signatures[0][:]),
		len(t.include) > 0 && !t.include.any(keys),
		len(t.exclude) > 0 && t.exclude.any(keys),
		len(t.required) > 0 && !t.required.all(keys):
		return false
	}
	return true
}

func accountFilters(m map[string]*pb.SubscribeRequestFilterAccounts) (out []accountFilter, err error) {
	for _, name := range names(m) {
		r := m[name]
		a := accountFilter{name: name, signed: r.NonemptyTxnSignature}
		if a.accounts, err = parseKeys(r.GetAccount()); err != nil {
			return nil, err
		}
		if a.owners, err = parseKeys(r.GetOwner()); err != nil {
			return nil, err
		}
		if len(r.GetFilters()) > maxAccountChecks {
			return nil, errors.New("max amount of filters is 4")
		}
		for _, x := range r.GetFilters() {
			if err := a.add(x); err != nil {
				return nil, err
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// add adds one of the conditions on the account's data or lamports.
func (a *accountFilter) add(x *pb.SubscribeRequestFilterAccountsFilter) (err error) {
	switch v := x.GetFilter().(type) {
	case *pb.SubscribeRequestFilterAccountsFilter_Datasize:
		a.size = &v.Datasize
	case *pb.SubscribeRequestFilterAccountsFilter_TokenAccountState:
		a.tokenState = v.TokenAccountState
	case *pb.SubscribeRequestFilterAccountsFilter_Lamports:
		a.lamports = append(a.lamports, v.Lamports)
	case *pb.SubscribeRequestFilterAccountsFilter_Memcmp:
		c := memcmp{offset: v.Memcmp.GetOffset()}
		switch d := v.Memcmp.GetData().(type) {
		case *pb.SubscribeRequestFilterAccountsFilterMemcmp_Bytes:
			c.data = d.Bytes
		case *pb.SubscribeRequestFilterAccountsFilterMemcmp_Base58:
			c.data, err = base58.Decode(d.Base58)
		case *pb.SubscribeRequestFilterAccountsFilterMemcmp_Base64:
			c.data, err = base64.StdEncoding.DecodeString(d.Base64)
		}
		if err != nil || len(c.data) > maxMemcmp {
			return errors.New("invalid memcmp data")
		}
		a.memcmp = append(a.memcmp, c)
	default:
		return errors.New("filter should be defined")
	}
	return nil
}

// match returns whether a write meets every condition. A deleted account counts as an empty one of
// the system program. All writes have a signature, so a filter for writes without one matches none.
func (a *accountFilter) match(w chain.Write) bool {
	acc := w.Account
	if acc == nil {
		acc = &chain.Account{Owner: chain.SystemProgram}
	}
	if _, ok := a.accounts[w.Key]; len(a.accounts) > 0 && !ok {
		return false
	}
	if _, ok := a.owners[acc.Owner]; len(a.owners) > 0 && !ok {
		return false
	}
	if a.signed != nil && !*a.signed || a.size != nil && uint64(len(acc.Data)) != *a.size {
		return false
	}
	if a.tokenState && !chain.IsTokenAccount(acc) {
		return false
	}
	for _, c := range a.memcmp {
		if c.offset > uint64(len(acc.Data)) || !bytes.HasPrefix(acc.Data[c.offset:], c.data) {
			return false
		}
	}
	return lamportsMatch(a.lamports, acc.Lamports)
}

func lamportsMatch(list []*pb.SubscribeRequestFilterAccountsFilterLamports, have uint64) bool {
	for _, l := range list {
		switch c := l.GetCmp().(type) {
		case *pb.SubscribeRequestFilterAccountsFilterLamports_Eq:
			if have != c.Eq {
				return false
			}
		case *pb.SubscribeRequestFilterAccountsFilterLamports_Ne:
			if have == c.Ne {
				return false
			}
		case *pb.SubscribeRequestFilterAccountsFilterLamports_Lt:
			if have >= c.Lt {
				return false
			}
		case *pb.SubscribeRequestFilterAccountsFilterLamports_Gt:
			if have <= c.Gt {
				return false
			}
		}
	}
	return true
}
