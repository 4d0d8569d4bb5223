package parse

import (
	"fmt"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
)

// ConfirmedBlock parses solana.storage.ConfirmedBlock (agave's storage-proto
// confirmed_block.proto). The message does not contain its slot.
func (r Reader) ConfirmedBlock(data []byte, slot uint64) (*chain.Block, error) {
	b := r.builder()
	var parent uint64
	w := protofields.Fields{Rest: data}
	for w.Next() {
		var err error
		switch {
		case w.IsBytes(1):
			b.block.ParentBlockhash, err = decodeKey(w.Bytes)
		case w.IsBytes(2):
			b.block.Blockhash, err = decodeKey(w.Bytes)
		case w.IsVarint(3):
			parent = w.Value
		case w.IsBytes(4):
			err = b.confirmedTransaction(w.Bytes)
		case w.IsBytes(6):
			var at uint64
			at, err = protofields.Varint(w.Bytes, 1)
			b.block.BlockTime = int64(at)
		case w.IsBytes(7):
			b.block.Height = new(uint64)
			*b.block.Height, err = protofields.Varint(w.Bytes, 1)
		}
		if err != nil {
			return nil, err
		}
	}
	if w.Err != nil {
		return nil, w.Err
	}
	if b.block.Blockhash == (pubkey.Key{}) {
		return nil, malformed("block without blockhash")
	}
	b.block.ParentSlot, b.block.Executed = &parent, uint64(b.count())
	return b.finish(slot, true)
}

// confirmedTransaction parses ConfirmedTransaction and appends it to the block. If it cannot be
// read, it goes to Block.Unread.
func (b *builder) confirmedTransaction(data []byte) error {
	i := b.count()
	if i >= maxTransactions {
		return malformed("more than %d transactions", maxTransactions)
	}
	b.block.Transactions = append(b.block.Transactions, chain.Transaction{Index: i})
	tx := &b.block.Transactions[len(b.block.Transactions)-1]
	var body, meta []byte
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsBytes(1):
			body = w.Bytes
		case w.IsBytes(2):
			meta = w.Bytes
		}
	}
	err := w.Err
	if err == nil {
		err = b.protoTransaction(tx, body, meta, nil)
	}
	if err != nil {
		b.leaveOut(data, err)
		return nil
	}
	tx.Raw = b.raw(rawTransaction{form: rawStored, all: data, index: i})
	return nil
}

// protoTransaction parses solana.storage Transaction and TransactionStatusMeta. vote tells whether
// the source calls the transaction a vote; nil if the source does not say.
func (b *builder) protoTransaction(tx *chain.Transaction, body, meta []byte, vote *bool) error {
	if body == nil || meta == nil {
		return malformed("no transaction or no metadata")
	}
	var m message
	flagged := vote != nil && *vote // of a vote only the signature is read
	w := protofields.Fields{Rest: body}
	for w.Next() {
		switch {
		case w.IsBytes(1):
			if m.signatures == 0 {
				if len(w.Bytes) != len(tx.Signature) {
					return malformed("signature of %d bytes", len(w.Bytes))
				}
				copy(tx.Signature[:], w.Bytes)
			}
			m.signatures++
		case w.IsBytes(2) && !flagged:
			if err := b.protoMessage(tx, w.Bytes, &m); err != nil {
				return err
			}
		}
	}
	if w.Err != nil {
		return w.Err
	}
	if m.signatures == 0 || len(tx.Keys) == 0 && !flagged {
		return malformed("transaction without signature or keys")
	}
	tx.Vote = flagged || vote == nil && isVote(tx, m.signatures, m.versioned)
	recorded, err := b.protoMeta(tx, meta, m)
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	b.innerUnknown = b.innerUnknown || !recorded && !tx.Failed && !tx.Vote
	drop(tx)
	return nil
}

// protoMessage parses a transaction's Message: keys, outer instructions, lookups and config.
// m.signatures must be known already.
func (b *builder) protoMessage(tx *chain.Transaction, data []byte, m *message) error {
	b.scratch, b.rawKeys = b.scratch[:0], b.rawKeys[:0]
	var config *txwire.Config
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsBytes(2):
			if len(b.rawKeys) >= maxKeys || len(w.Bytes) != len(pubkey.Key{}) {
				return malformed("account key %d of %d bytes", len(b.rawKeys), len(w.Bytes))
			}
			b.rawKeys = append(b.rawKeys, w.Bytes)
		case w.IsBytes(4):
			if len(b.scratch) >= maxInstructions {
				return malformed("more than %d instructions", maxInstructions)
			}
			call, err := protoCall(w.Bytes)
			if err != nil {
				return fmt.Errorf("instruction %d: %w", len(b.scratch), err)
			}
			call.StackHeight = 1
			b.scratch = append(b.scratch, call)
		case w.IsVarint(5):
			m.versioned = w.Value != 0
		case w.IsBytes(6):
			m.hasLookups = true
			lookup := protofields.Fields{Rest: w.Bytes}
			for lookup.Next() {
				switch {
				case lookup.IsBytes(2):
					m.writable += len(lookup.Bytes)
				case lookup.IsBytes(3):
					m.readonly += len(lookup.Bytes)
				}
			}
			if lookup.Err != nil {
				return lookup.Err
			}
		case w.IsBytes(7):
			config = new(txwire.Config)
			if err := protoConfig(config, w.Bytes); err != nil {
				return fmt.Errorf("config: %w", err)
			}
		}
	}
	if err := b.protoVersion(m, config); err != nil {
		return err
	}
	tx.Keys = b.keys.take(len(b.rawKeys))
	for i, raw := range b.rawKeys {
		tx.Keys[i] = pubkey.Key(raw)
	}
	tx.Instructions = b.outer.take(len(b.scratch))
	for i, call := range b.scratch {
		tx.Instructions[i].Call = call
	}
	return w.Err
}

// protoCall parses CompiledInstruction and InnerInstruction, whose first three fields are the same.
func protoCall(data []byte) (call chain.Call, err error) {
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsVarint(1):
			if w.Value >= maxKeys {
				return call, malformed("program index %d", w.Value)
			}
			call.ProgramIndex = int(w.Value)
		case w.IsBytes(2):
			call.Accounts = w.Bytes
		case w.IsBytes(3):
			call.Data = w.Bytes
		case w.IsVarint(4):
			if w.Value > 255 {
				return call, malformed("stack height %d", w.Value)
			}
			call.StackHeight = int(w.Value)
		}
	}
	return call, w.Err
}

// protoMeta parses TransactionStatusMeta. Of a vote or a failed transaction it reads only whether
// it failed. recorded is false if the node did not record inner instructions.
func (b *builder) protoMeta(tx *chain.Transaction, data []byte, m message) (recorded bool, err error) {
	var writable, readonly []pubkey.Key
	var pre, post []chain.TokenBalance
	b.scratch, b.groups, b.scratchBalances, b.scratchPost = b.scratch[:0], b.groups[:0], b.scratchBalances[:0], b.scratchPost[:0]
	pre, post, recorded = b.scratchBalances, b.scratchPost, true
	var d details
	w := protofields.Fields{Rest: data}
	for w.Next() {
		if w.IsBytes(fieldErr) { // err comes before all other fields
			tx.Failed = true
			return true, nil
		}
		if tx.Vote {
			continue
		}
		switch {
		case w.IsBytes(fieldLogMessages):
			d.log(&w, data)
		case w.IsBytes(fieldInnerInstructions):
			err = b.protoInner(w.Bytes)
		case w.IsBytes(fieldPreTokenBalances):
			pre, err = b.protoBalance(pre, w.Bytes)
		case w.IsBytes(fieldPostTokenBalances):
			post, err = b.protoBalance(post, w.Bytes)
		case w.IsBytes(fieldPreBalances):
			d.pre = w.Bytes
		case w.IsBytes(fieldPostBalances):
			d.post = w.Bytes
		case w.IsVarint(fieldInnerInstructionsNone):
			recorded = w.Value == 0
		case w.IsBytes(fieldLoadedWritable):
			writable, err = protoLoaded(writable, w.Bytes)
		case w.IsBytes(fieldLoadedReadonly):
			readonly, err = protoLoaded(readonly, w.Bytes)
		}
		if err != nil {
			return false, err
		}
	}
	if w.Err != nil {
		return false, w.Err
	}
	if tx.Vote {
		return true, nil
	}
	b.scratchBalances, b.scratchPost = pre, post
	tx.PreBalances, tx.PostBalances = b.balances.copyOf(pre), b.balances.copyOf(post)
	tx.Signers, tx.Details = m.signatures, b.detailsOf(d)
	if err := b.load(tx, m, writable, readonly); err != nil {
		return false, err
	}
	return recorded, b.joinInner(tx)
}

func protoLoaded(to []pubkey.Key, data []byte) ([]pubkey.Key, error) {
	if len(to) >= maxKeys || len(data) != len(pubkey.Key{}) {
		return nil, malformed("loaded address %d of %d bytes", len(to), len(data))
	}
	return append(to, pubkey.Key(data)), nil
}

// protoInner parses InnerInstructions into scratch. joinInner joins them later.
func (b *builder) protoInner(data []byte) error {
	if len(b.groups) >= maxInstructions {
		return malformed("more than %d lists of inner instructions", maxInstructions)
	}
	g := innerGroup{from: len(b.scratch)}
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsVarint(1):
			g.index = w.Value
		case w.IsBytes(2):
			if len(b.scratch) >= maxInner {
				return malformed("more than %d inner instructions", maxInner)
			}
			call, err := protoCall(w.Bytes)
			if err != nil {
				return fmt.Errorf("inner instruction %d: %w", len(b.scratch)-g.from, err)
			}
			b.scratch = append(b.scratch, call)
		}
	}
	g.to = len(b.scratch)
	b.groups = append(b.groups, g)
	return w.Err
}

// protoBalance parses TokenBalance and appends it to the list to.
func (b *builder) protoBalance(to []chain.TokenBalance, data []byte) ([]chain.TokenBalance, error) {
	if len(to) >= maxBalances {
		return nil, malformed("more than %d token balances", maxBalances)
	}
	var t chain.TokenBalance
	minted := false
	w := protofields.Fields{Rest: data}
	for w.Next() {
		var err error
		switch {
		case w.IsVarint(1):
			t.AccountIndex = int(w.Value)
			err = bounded(nil, w.Value, maxKeys-1, "account index")
		case w.IsBytes(2):
			minted = true
			t.Mint, err = b.recent.key(w.Bytes)
		case w.IsBytes(3):
			err = protoAmount(&t, w.Bytes)
		case w.IsBytes(4) && len(w.Bytes) > 0:
			t.Owner, err = b.recent.key(w.Bytes)
		case w.IsBytes(5) && len(w.Bytes) > 0:
			t.Program, err = b.recent.key(w.Bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("token balance %d: %w", len(to), err)
		}
	}
	if w.Err == nil && !minted {
		return nil, malformed("token balance %d: without mint", len(to))
	}
	return append(to, t), w.Err
}

// protoAmount parses UiTokenAmount.
func protoAmount(t *chain.TokenBalance, data []byte) (err error) {
	w := protofields.Fields{Rest: data}
	for w.Next() && err == nil {
		switch {
		case w.IsVarint(2):
			t.Decimals = uint8(w.Value)
			err = bounded(nil, w.Value, 255, "decimals")
		case w.IsBytes(3):
			t.Amount, err = parseAmount(w.Bytes)
		}
	}
	if err != nil {
		return err
	}
	return w.Err
}
