package enrich

import (
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

const (
	// maxBatchMints is how many mints fill one call of getMultipleAccounts. Each mint takes two
	// accounts: its own and its Metaplex account.
	maxBatchMints = solana.MaxAccountsPerCall / 2
	// maxRememberedURI bounds the length of a URI kept in memory, in bytes. Metaplex allows 200.
	maxRememberedURI = 256
)

// accountStage reads mints and their Metaplex accounts in batches.
type accountStage struct {
	*batches
	// read remembers the last read of each mint, absent that of each address without a mint.
	read   *lru.Cache[pubkey.Key, readMark]
	absent *lru.Cache[pubkey.Key, readMark]
}

// readMark remembers a read: its slot, when it was made, and the metadata URI to fetch.
type readMark struct {
	slot uint64
	at   time.Time
	uri  string
}

func newAccountStage(e *Enricher) (*accountStage, error) {
	s := &accountStage{}
	var err error
	if s.batches, err = newBatches(e, s, "enrich accounts", e.cfg.batchMints, byMint); err != nil {
		return nil, err
	}
	if s.read, err = lru.New[pubkey.Key, readMark](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of reads: %w", err)
	}
	if s.absent, err = lru.New[pubkey.Key, readMark](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of addresses without a mint: %w", err)
	}
	return s, nil
}

// keys returns the mint and its Metaplex account.
func (s *accountStage) keys(j *job) []pubkey.Key { return accountsOf(j.mint) }

// pair returns the two accounts that were read for the i-th job of the batch.
func (s *accountStage) pair(r reading, i int) (mint, metaplex *solana.Account) {
	return r.accounts[2*i], r.accounts[2*i+1]
}

// answered reports whether an earlier read answers j. No earlier read answers a request that a
// retraction made, because the request wants a new read. If an earlier read answers, j's turn ends:
// j goes on, with the URI of that read if it found one, or is complete if there was no mint.
func (s *accountStage) answered(j *job) bool {
	now := s.e.now()
	if j.request.GetReason() == eventspb.RequestReason_REQUEST_REASON_RETRACTED {
		return false
	}
	if mark, ok := s.absent.Get(j.mint); ok && mark.slot >= j.request.GetSlot() && now.Sub(mark.at) < negativeTTL {
		s.e.metrics.dedup.WithLabelValues(dedupNotAMint).Inc()
		s.e.complete(j)
		s.finish(j)
		return true
	}
	mark, ok := s.read.Get(j.mint)
	if !ok || mark.slot < j.request.GetSlot() || now.Sub(mark.at) >= accountTTL {
		return false
	}
	s.e.metrics.dedup.WithLabelValues(dedupAccounts).Inc()
	if mark.uri != "" || j.byAccount() {
		j.uri, j.slot = mark.uri, mark.slot
	}
	s.e.continueOffchain(j)
	s.finish(j)
	return true
}

// cutOff reports whether a Token-2022 mint or a Metaplex account may be longer than what was read
// of it. No other account yields a fact from its later bytes.
func cutOff(r reading, mint, metaplex *solana.Account) bool {
	long := func(a *solana.Account) bool { return a != nil && uint64(len(a.Data)) == r.length }
	return r.length < wholeRead &&
		(long(mint) && mint.Owner == tokenaccount.ProgramToken2022 ||
			long(metaplex) && metaplex.Owner == tokenaccount.ProgramMetaplex)
}

// answer publishes the facts of all jobs that the read answers, together. Once they are durable,
// these jobs go on. A job whose slot the server has not reached waits. After its patience, the
// older read answers it if the mint exists and the request names the mint; otherwise it is given
// up. A job with an account that was cut off is read again alone.
func (s *accountStage) answer(ctx context.Context, batch []*job, r reading) error {
	var facts []*eventspb.Enrichment
	var said [][]*eventspb.Enrichment // the facts of each job in answered
	var answered, again []*job
	for i, j := range batch {
		mint, metaplex := s.pair(r, i)
		behind := r.slot < j.request.GetSlot()
		switch {
		case behind && s.waitForSlot(j):
		case behind && (mint == nil || j.byAccount()):
			// An older read shows what a mint is, if it exists. It does not show what an update at
			// the request's slot wrote.
			if err := s.giveUpBehind(ctx, j, r.slot); err != nil {
				return err
			}
		case cutOff(r, mint, metaplex):
			again = append(again, j)
		default:
			found := factsOf(j.mint, r.slot, mint, metaplex)
			if found.malformed != nil {
				if err := s.e.writeDeadLetter(ctx, j, reasonMetaplex, found.malformed.Error()); err != nil {
					return err
				}
			}
			if !found.metadataAccount.IsZero() {
				s.e.resolver.remember(found.metadataAccount, j.mint)
			}
			s.setURI(j, r.slot, found)
			factrecord.SetUpstream(found.facts, r.upstream)
			facts = append(facts, found.facts...)
			answered, said = append(answered, j), append(said, found.facts)
		}
	}
	if err := s.e.publish(ctx, facts); err != nil {
		return err
	}
	for i, j := range answered {
		s.e.upstreams.note(j.mint, r, said[i])
		s.goOn(j, r.slot)
	}
	for _, j := range again {
		if err := s.readBatch(ctx, []*job{j}, wholeRead); err != nil {
			return err
		}
	}
	return nil
}

// setURI sets what j needs from the read: whether there is no mint, and the URI to fetch. The
// accounts' URI counts if the read is not older than the request, or if the request has no URI. For
// a request by account it always counts, because only a read that is not older than the request
// answers it.
func (s *accountStage) setURI(j *job, slot uint64, found findings) {
	j.notAMint = found.notAMint
	if j.byAccount() || found.uri != "" && (slot >= j.request.GetSlot() || j.uri == "") {
		j.uri, j.slot = found.uri, slot
	}
}

// goOn remembers a read whose facts are durable, and passes the job on. If there is no mint, the
// job is complete.
func (s *accountStage) goOn(j *job, slot uint64) {
	mark := readMark{slot: slot, at: s.e.now(), uri: j.uri}
	if !j.record.Time.IsZero() {
		s.e.metrics.answerAge.WithLabelValues("accounts").Observe(mark.at.Sub(j.record.Time).Seconds())
	}
	switch {
	case j.notAMint:
		s.absent.Add(j.mint, mark)
		s.e.complete(j)
	default:
		if len(mark.uri) <= maxRememberedURI {
			s.read.Add(j.mint, mark)
		}
		s.absent.Remove(j.mint)
		s.e.continueOffchain(j)
	}
	s.finish(j)
}
