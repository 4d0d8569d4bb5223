package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// resolverStage finds the mint of requests that name only a Metaplex metadata account, and hands
// them to the account stage. It decides no fact: the account stage reads mint and metadata again,
// at one slot that is not before the request's.
type resolverStage struct {
	*batches
	// mints of accounts, for good: the account's address is derived from the mint.
	mints      *lru.Cache[pubkey.Key, pubkey.Key]
	unresolved *lru.Cache[pubkey.Key, readMark]
}

// resolution is what a metadata account's read came to: a metric label.
type resolution string

const (
	resolvedMint resolution = "mint"
	// resolvedClosed: there is no account, or what closing leaves behind. Nothing is left to tell.
	resolvedClosed resolution = "closed"
	// resolvedOtherOwner and resolvedOtherKind: no metadata account. Whatever it is, it says
	// nothing about a mint.
	resolvedOtherOwner resolution = "other_owner"
	resolvedOtherKind  resolution = "other_kind"
	// resolvedMalformed: it says that it is a metadata account and does not read as one.
	resolvedMalformed resolution = "malformed"
	// resolvedForeign: it names a mint whose metadata account is another one.
	resolvedForeign resolution = "foreign"
)

func outcomes() []string {
	return []string{
		string(resolvedMint), string(resolvedClosed), string(resolvedOtherOwner), string(resolvedOtherKind), string(resolvedMalformed),
		string(resolvedForeign),
	}
}

func newResolverStage(e *Enricher) (*resolverStage, error) {
	s := &resolverStage{}
	var err error
	size := e.cfg.batchMints * solana.MaxAccountsPerCall / maxBatchMints
	if s.batches, err = newBatches(e, s, "enrich metadata accounts", size, func(j *job) pubkey.Key { return j.account }); err != nil {
		return nil, err
	}
	if s.mints, err = lru.New[pubkey.Key, pubkey.Key](e.cfg.cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of metadata accounts: %w", err)
	}
	if s.unresolved, err = lru.New[pubkey.Key, readMark](e.cfg.cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of accounts without a mint: %w", err)
	}
	return s, nil
}

// remember notes the mint of a metadata account. The caller has derived the one from the other.
func (s *resolverStage) remember(account, mint pubkey.Key) { s.mints.Add(account, mint) }

func (s *resolverStage) keys(j *job) []pubkey.Key { return []pubkey.Key{j.account} }

// answered ends j's turn when the mint is known, or when an earlier read found none and is not
// older than the request.
func (s *resolverStage) answered(j *job) bool {
	if mint, ok := s.mints.Get(j.account); ok {
		s.e.metrics.dedup.WithLabelValues(dedupMetadataAccount).Inc()
		s.handOn(j, mint)
		return true
	}
	mark, ok := s.unresolved.Get(j.account)
	if !ok || mark.slot < j.request.GetSlot() || s.e.now().Sub(mark.at) >= s.e.cfg.negativeTTL {
		return false
	}
	s.e.metrics.dedup.WithLabelValues(dedupUnresolved).Inc()
	s.e.complete(j)
	s.finish(j)
	return true
}

// answer hands on what is resolved. A mint is right however old the read, since the account can
// belong to no other; its absence is believed only of a server that has reached the request's slot.
func (s *resolverStage) answer(ctx context.Context, batch []*job, r reading) error {
	for i, j := range batch {
		mint, found := resolve(j.account, r.accounts[i])
		behind := found != resolvedMint && r.slot < j.request.GetSlot()
		switch {
		case behind && s.waitForSlot(j):
			continue
		case behind:
			if err := s.giveUpBehind(ctx, j, r.slot); err != nil {
				return err
			}
			continue
		}
		s.e.metrics.resolutions.WithLabelValues(string(found)).Inc()
		if found == resolvedMint {
			s.remember(j.account, mint)
			s.handOn(j, mint)
			continue
		}
		if err := s.end(ctx, j, r.slot, found); err != nil {
			return err
		}
	}
	return nil
}

func (s *resolverStage) handOn(j *job, mint pubkey.Key) {
	j.mint = mint
	// The account stage's read may come from another server, which has its own time to reach the
	// slot.
	j.behindSince = time.Time{}
	s.e.accounts.submit(j)
	s.finish(j)
}

// end answers a request whose account names no mint: silently where such things happen on the
// chain, with a dead letter where only a program or a server that does wrong explains it.
func (s *resolverStage) end(ctx context.Context, j *job, slot uint64, found resolution) error {
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

// resolve says which mint a metadata account is about; found is nil where there is no account. The
// data is the chain's and so anyone's: the mint counts only when the address derived from it is the
// account's own. It is pure.
func resolve(account pubkey.Key, found *solana.Account) (pubkey.Key, resolution) {
	switch {
	case found == nil:
		return pubkey.Key{}, resolvedClosed
	case found.Owner.IsZero() && len(found.Data) == 0:
		// The system program's: someone sent lamports to the address of a closed account.
		return pubkey.Key{}, resolvedClosed
	case found.Owner != tokenaccount.ProgramMetaplex:
		return pubkey.Key{}, resolvedOtherOwner
	case len(found.Data) == 0 || found.Data[0] == 0:
		// Key::Uninitialized: what the program leaves of an account that it closes and that still
		// holds fees.
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
