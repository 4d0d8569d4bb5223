package rpc

import (
	"encoding/json"
	"time"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// getEpochSchedule returns mainnet's schedule: all epochs have the same length.
func getEpochSchedule(*Server, []json.RawMessage) (any, error) {
	return map[string]any{"slotsPerEpoch": chain.SlotsPerEpoch, "leaderScheduleSlotOffset": chain.SlotsPerEpoch, "warmup": false, "firstNormalEpoch": 0, "firstNormalSlot": 0}, nil
}

// Lengths of a BLS signature, and of the bitmap of its signers here.
const (
	blsSignature = 192
	bitmap       = 3
)

// getAgGenesisCert returns the certificate with which the cluster went over to Alpenglow: null on
// one with votes. It is made up. Its block is the last one before the chain.
func getAgGenesisCert(s *Server, _ []json.RawMessage) (any, error) {
	if s.chain.Votes {
		return nil, nil
	}
	id := chain.MadeUp("alpenglow genesis", 0)
	return map[string]any{"block": map[string]any{"slot": s.chain.ParentSlot, "blockId": ints(id[:])},
		"signature": map[string]any{"signature": ints(make([]byte, blsSignature)), "bitmap": ints(make([]byte, bitmap))}}, nil
}

// stake is what each validator has, in lamports.
const stake = 1_000_000_000_000_000

// getVoteAccounts lists the validators, all of them current.
func getVoteAccounts(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	slot := s.ledger.Slot(c)
	epoch := slot / chain.SlotsPerEpoch
	current := []any{}
	for _, v := range chain.Validators(s.chain.Seed) {
		current = append(current, map[string]any{"votePubkey": v.Vote.String(), "nodePubkey": v.Identity.String(), "activatedStake": uint64(stake), "commission": 5,
			"epochVoteAccount": true, "epochCredits": [][3]uint64{{epoch, 1000 * (epoch + 1), 1000 * epoch}}, "lastVote": slot, "rootSlot": slot})
	}
	return map[string]any{"current": current, "delinquent": []any{}}, nil
}

// The real node's samples: one a minute, of which it keeps 720.
const (
	samplePeriod = time.Minute
	maxSamples   = 720
)

// getRecentPerformanceSamples counts slots and transactions by minutes, the newest first. The past
// has none: its slots took a minute each.
func getRecentPerformanceSamples(s *Server, params []json.RawMessage) (any, error) {
	limit := maxSamples
	if len(params) > 0 && string(params[0]) != "null" {
		var err error
		if limit, err = jsonrpc.Arg[int](params, 0, "limit"); err != nil {
			return nil, err
		}
		if limit < 0 || limit > maxSamples {
			return nil, jsonrpc.InvalidParams("Invalid limit; max %d", maxSamples)
		}
	}
	type sample struct {
		Slot            uint64 `json:"slot"`
		NumSlots        uint64 `json:"numSlots"`
		Transactions    int    `json:"numTransactions"`
		NonVote         int    `json:"numNonVoteTransactions"`
		SamplePeriodSec int    `json:"samplePeriodSecs"`
	}
	out := []sample{}
	window := uint64(samplePeriod / max(s.chain.SlotTime, time.Millisecond))
	tip, first := s.ledger.Slot(0), max(s.ledger.First(), s.chain.Live())
	for to := tip; len(out) < limit && to >= first+window; to -= window {
		at := sample{Slot: to, NumSlots: window, SamplePeriodSec: int(samplePeriod / time.Second)}
		for _, n := range s.ledger.Slots(to-window+1, to, int(window), 0) {
			b, _, ok := s.ledger.Block(n)
			if !ok {
				continue
			}
			at.Transactions += len(b.Txs)
			for _, tx := range b.Txs {
				if !tx.Vote {
					at.NonVote++
				}
			}
		}
		out = append(out, at)
	}
	return out, nil
}
