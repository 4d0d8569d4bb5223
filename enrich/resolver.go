package enrich

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// resolverStage finds the mint of requests that name only a Metaplex metadata account, and passes
// them to the account stage. It writes no fact: the account stage reads mint and metadata again, at
// one slot that is not before the request's.
type resolverStage struct {
	*batches
	// mints maps metadata accounts to their mints. An entry never changes, because the account's
	// address is derived from the mint. unresolved remembers the reads that found no mint.
	mints      *lru.Cache[pubkey.Key, pubkey.Key]
	unresolved *lru.Cache[pubkey.Key, readMark]
}

// resolution is the outcome of reading a metadata account: a metric label.
type resolution string

const (
	resolvedMint resolution = "mint"
	// resolvedClosed: the account does not exist, or has only what closing leaves behind.
	resolvedClosed resolution = "closed"
	// resolvedOtherOwner and resolvedOtherKind: the account is not a metadata account, and so says
	// nothing about a mint.
	resolvedOtherOwner resolution = "other_owner"
	resolvedOtherKind  resolution = "other_kind"
	// resolvedMalformed: the account claims to be a metadata account, but does not parse as one.
	resolvedMalformed resolution = "malformed"
	// resolvedForeign: the account names a mint whose metadata account has another address.
	resolvedForeign resolution = "foreign"
)

// resolutions returns all values of resolution, for the metric.
func resolutions() []string {
	return []string{
		string(resolvedMint), string(resolvedClosed), string(resolvedOtherOwner), string(resolvedOtherKind), string(resolvedMalformed),
		string(resolvedForeign),
	}
}

func newResolverStage(e *Enricher) (*resolverStage, error) {
	s := &resolverStage{}
	var err error
	// A job of this stage reads one account, a job of the account stage two.
	size := e.cfg.batchMints * solana.MaxAccountsPerCall / maxBatchMints
	if s.batches, err = newBatches(e, s, "enrich metadata accounts", size, func(j *job) pubkey.Key { return j.account }); err != nil {
		return nil, err
	}
	if s.mints, err = lru.New[pubkey.Key, pubkey.Key](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of metadata accounts: %w", err)
	}
	if s.unresolved, err = lru.New[pubkey.Key, readMark](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of accounts without a mint: %w", err)
	}
	return s, nil
}

// remember notes the mint of a metadata account. The caller has derived the address from the mint.
func (s *resolverStage) remember(account, mint pubkey.Key) { s.mints.Add(account, mint) }

func (s *resolverStage) keys(j *job) []pubkey.Key { return []pubkey.Key{j.account} }

// answered reports whether j needs no read: the mint is known, or an earlier read that is not older
// than the request found no mint. If so, it passes j on or ends it.
func (s *resolverStage) answered(j *job) bool {
	if mint, ok := s.mints.Get(j.account); ok {
		s.e.metrics.dedup.WithLabelValues(dedupMetadataAccount).Inc()
		s.handOn(j, mint)
		return true
	}
	mark, ok := s.unresolved.Get(j.account)
	if !ok || mark.slot < j.request.GetSlot() || s.e.now().Sub(mark.at) >= negativeTTL {
		return false
	}
	s.e.metrics.dedup.WithLabelValues(dedupUnresolved).Inc()
	s.e.complete(j)
	s.finish(j)
	return true
}

// denied is a job whose metadata account names no mint according to one upstream; found says why.
type denied struct {
	*job
	found resolution
}

// answer passes on the jobs whose mint was found. A mint counts however old the read is, because
// the account can belong to no other mint. An answer without a mint counts only if the server has
// reached the request's slot, and if another upstream gives the same answer.
func (s *resolverStage) answer(ctx context.Context, batch []*job, r reading) error {
	var none []denied
	for i, j := range batch {
		mint, found := resolve(j.account, r.accounts[i])
		behind := r.slot < j.request.GetSlot()
		switch {
		case found == resolvedMint:
			s.resolved(j, mint)
		case behind && s.waitForSlot(j):
		case behind:
			if err := s.giveUpBehind(ctx, j, r.slot); err != nil {
				return err
			}
		default:
			none = append(none, denied{j, found})
		}
	}
	return s.confirm(ctx, none, r)
}

// confirm asks another upstream about the jobs for which the first upstream found no mint. Nothing
// later would show that the first one lied: an account's address proves a mint, but not that there
// is none. A job that no other upstream answers is read again later. When its patience is over, the
// first answer counts.
func (s *resolverStage) confirm(ctx context.Context, none []denied, r reading) error {
	if len(none) == 0 {
		return nil // each call of others would give the next upstream its turn
	}
	others := s.e.upstreams.others(r.upstream)
	if len(others) == 0 {
		return s.endAll(ctx, none, r.slot)
	}
	keys := make([]pubkey.Key, len(none))
	for i, j := range none {
		keys[i] = j.account
	}
	var second reading
	// An upstream that rests has failed a moment ago, and may take long to fail again. Other
	// batches would wait for the place of this call in rpcCalls.
	if awake := slices.DeleteFunc(others, s.e.upstreams.rests); len(awake) > 0 {
		var err error // after an error, second.accounts is nil
		if second, err = s.callOf(ctx, awake, keys, r.length); err != nil && ctx.Err() != nil {
			return err
		}
	}
	var ended []denied
	for i, j := range none {
		if second.accounts != nil {
			if mint, found := resolve(j.account, second.accounts[i]); found == resolvedMint {
				s.e.upstreams.count(checkDiffered, 1)
				s.resolved(j.job, mint)
				continue
			}
		}
		if (second.accounts == nil || second.slot < j.request.GetSlot()) && s.waitForSlot(j.job) {
			continue
		}
		ended = append(ended, j)
	}
	return s.endAll(ctx, ended, r.slot)
}

// resolved passes on a job whose mint was found.
func (s *resolverStage) resolved(j *job, mint pubkey.Key) {
	s.e.metrics.resolutions.WithLabelValues(string(resolvedMint)).Inc()
	s.remember(j.account, mint)
	s.handOn(j, mint)
}

func (s *resolverStage) handOn(j *job, mint pubkey.Key) {
	j.mint = mint
	// The account stage may read from another server, which takes its own time to reach the slot.
	j.behindSince = time.Time{}
	s.e.accounts.submit(j)
	s.finish(j)
}

func (s *resolverStage) endAll(ctx context.Context, none []denied, slot uint64) error {
	for _, j := range none {
		if err := s.end(ctx, j.job, slot, j.found); err != nil {
			return err
		}
	}
	return nil
}

// end answers a request whose account names no mint. It writes a dead letter if only a faulty
// program or server can be the cause.
func (s *resolverStage) end(ctx context.Context, j *job, slot uint64, found resolution) error {
	s.e.metrics.resolutions.WithLabelValues(string(found)).Inc()
	if found == resolvedMalformed || found == resolvedForeign {
		if err := s.e.writeDeadLetter(ctx, j, reasonMetaplex, fmt.Sprintf("account at slot %d is %s", slot, found)); err != nil {
			return err
		}
	}
	s.unresolved.Add(j.account, readMark{slot: slot, at: s.e.now()})
	s.e.complete(j)
	s.finish(j)
	return nil
}

// resolve returns the mint that a metadata account describes; found is nil if there is no account.
// Anyone may have written the data, so a mint counts only if the account's address is derived from
// it. resolve is pure.
func resolve(account pubkey.Key, found *solana.Account) (pubkey.Key, resolution) {
	switch {
	case found == nil:
		return pubkey.Key{}, resolvedClosed
	case found.Owner.IsZero() && len(found.Data) == 0:
		// The system program owns it: someone sent lamports to the address of a closed account.
		return pubkey.Key{}, resolvedClosed
	case found.Owner != tokenaccount.ProgramMetaplex:
		return pubkey.Key{}, resolvedOtherOwner
	case len(found.Data) == 0 || found.Data[0] == 0:
		// Key::Uninitialized: the program closed the account, but it still holds fees.
		return pubkey.Key{}, resolvedClosed
	}
	metadata, err := tokenaccount.ParseMetaplex(found.Data)
	switch {
	case errors.Is(err, tokenaccount.ErrOtherKind):
		return pubkey.Key{}, resolvedOtherKind
	case err != nil:
		return pubkey.Key{}, resolvedMalformed
	}
	if address, ok := tokenaccount.MetaplexAddress(metadata.Mint); !ok || address != account {
		return pubkey.Key{}, resolvedForeign
	}
	return metadata.Mint, resolvedMint
}
