package parse

import (
	"fmt"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
)

// ConfirmedBlock parses solana.storage.ConfirmedBlock (agave's storage-proto
// confirmed_block.proto). The message does not contain its slot.
func ConfirmedBlock(data []byte, slot uint64) (*chain.Block, error) {
	return Reader{}.ConfirmedBlock(data, slot)
}

// ConfirmedBlock is like the function of that name.
func (r Reader) ConfirmedBlock(data []byte, slot uint64) (*chain.Block, error) {
	b := r.builder()
	var parent uint64
	w := walk{rest: data}
	for w.next() {
		var err error
		switch {
		case w.message(1):
			b.block.ParentBlockhash, err = decodeKey(w.v)
		case w.message(2):
			b.block.Blockhash, err = decodeKey(w.v)
		case w.varint(3):
			parent = w.n
		case w.message(4):
			err = b.confirmedTransaction(w.v)
		case w.message(6):
			var at uint64
			at, err = firstVarint(w.v, 1)
			b.block.BlockTime = int64(at)
		case w.message(7):
			b.block.Height = new(uint64)
			*b.block.Height, err = firstVarint(w.v, 1)
		}
		if err != nil {
			return nil, err
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	if b.block.Blockhash == (pubkey.Key{}) {
		return nil, malformed("block without blockhash")
	}
	b.block.ParentSlot, b.block.Executed = &parent, uint64(b.count())
	return b.finish(slot, true)
}

// confirmedTransaction parses ConfirmedTransaction and appends it to the block. One that cannot be
// read is left out.
func (b *builder) confirmedTransaction(data []byte) error {
	i := b.count()
	if i >= maxTransactions {
		return malformed("more than %d transactions", maxTransactions)
	}
	b.block.Transactions = append(b.block.Transactions, chain.Transaction{Index: i})
	tx := &b.block.Transactions[len(b.block.Transactions)-1]
	var body, meta []byte
	w := walk{rest: data}
	for w.next() {
		switch {
		case w.message(1):
			body = w.v
		case w.message(2):
			meta = w.v
		}
	}
	err := w.err
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

// protoTransaction parses solana.storage Transaction and TransactionStatusMeta. vote is what the
// source says; nil if it does not say.
func (b *builder) protoTransaction(tx *chain.Transaction, body, meta []byte, vote *bool) error {
	if body == nil || meta == nil {
		return malformed("no transaction or no metadata")
	}
	var m message
	flagged := vote != nil && *vote // of a vote only the signature is read
	w := walk{rest: body}
	for w.next() {
		switch {
		case w.message(1):
			if m.signatures == 0 {
				if len(w.v) != len(tx.Signature) {
					return malformed("signature of %d bytes", len(w.v))
				}
				copy(tx.Signature[:], w.v)
			}
			m.signatures++
		case w.message(2) && !flagged:
			if err := b.protoMessage(tx, w.v, &m); err != nil {
				return err
			}
		}
	}
	if w.err != nil {
		return w.err
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

// protoMessage parses a transaction's Message: keys, outer instructions, lookups and config. The
// signatures stand before the message.
func (b *builder) protoMessage(tx *chain.Transaction, data []byte, m *message) error {
	b.scratch, b.rawKeys = b.scratch[:0], b.rawKeys[:0]
	var config *txwire.Config
	w := walk{rest: data}
	for w.next() {
		switch {
		case w.message(2):
			if len(b.rawKeys) >= maxKeys || len(w.v) != len(pubkey.Key{}) {
				return malformed("account key %d of %d bytes", len(b.rawKeys), len(w.v))
			}
			b.rawKeys = append(b.rawKeys, w.v)
		case w.message(4):
			if len(b.scratch) >= maxInstructions {
				return malformed("more than %d instructions", maxInstructions)
			}
			call, err := protoCall(w.v)
			if err != nil {
				return fmt.Errorf("instruction %d: %w", len(b.scratch), err)
			}
			call.StackHeight = 1
			b.scratch = append(b.scratch, call)
		case w.varint(5):
			m.versioned = w.n != 0
		case w.message(6):
			m.hasLookups = true
			lookup := walk{rest: w.v}
			for lookup.next() {
				switch {
				case lookup.message(2):
					m.writable += len(lookup.v)
				case lookup.message(3):
					m.readonly += len(lookup.v)
				}
			}
			if lookup.err != nil {
				return lookup.err
			}
		case w.message(7):
			config = new(txwire.Config)
			if err := protoConfig(config, w.v); err != nil {
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
	return w.err
}

// protoCall parses CompiledInstruction and InnerInstruction, whose first three fields are the same.
func protoCall(data []byte) (call chain.Call, err error) {
	w := walk{rest: data}
	for w.next() {
		switch {
		case w.varint(1):
			if w.n >= maxKeys {
				return call, malformed("program index %d", w.n)
			}
			call.ProgramIndex = int(w.n)
		case w.message(2):
			call.Accounts = w.v
		case w.message(3):
			call.Data = w.v
		case w.varint(4):
			if w.n > 255 {
				return call, malformed("stack height %d", w.n)
			}
			call.StackHeight = int(w.n)
		}
	}
	return call, w.err
}

// protoMeta parses TransactionStatusMeta. Of a vote or a failed transaction it reads only whether
// it failed. recorded is false if the node did not record inner instructions.
func (b *builder) protoMeta(tx *chain.Transaction, data []byte, m message) (recorded bool, err error) {
	var writable, readonly []pubkey.Key
	var pre, post []chain.TokenBalance
	b.scratch, b.groups, b.scratchBalances, b.scratchPost = b.scratch[:0], b.groups[:0], b.scratchBalances[:0], b.scratchPost[:0]
	pre, post, recorded = b.scratchBalances, b.scratchPost, true
	var d details
	w := walk{rest: data}
	for w.next() {
		if w.message(fieldErr) { // it comes first
			tx.Failed = true
			return true, nil
		}
		if tx.Vote {
			continue
		}
		switch {
		case w.message(fieldLogMessages):
			d.log(&w, data)
		case w.message(fieldInnerInstructions):
			err = b.protoInner(w.v)
		case w.message(fieldPreTokenBalances):
			pre, err = b.protoBalance(pre, w.v)
		case w.message(fieldPostTokenBalances):
			post, err = b.protoBalance(post, w.v)
		case w.message(fieldPreBalances):
			d.pre = w.v
		case w.message(fieldPostBalances):
			d.post = w.v
		case w.varint(fieldInnerInstructionsNone):
			recorded = w.n == 0
		case w.message(fieldLoadedWritable):
			writable, err = protoLoaded(writable, w.v)
		case w.message(fieldLoadedReadonly):
			readonly, err = protoLoaded(readonly, w.v)
		}
		if err != nil {
			return false, err
		}
	}
	if w.err != nil {
		return false, w.err
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
	w := walk{rest: data}
	for w.next() {
		switch {
		case w.varint(1):
			g.index = w.n
		case w.message(2):
			if len(b.scratch) >= maxInner {
				return malformed("more than %d inner instructions", maxInner)
			}
			call, err := protoCall(w.v)
			if err != nil {
				return fmt.Errorf("inner instruction %d: %w", len(b.scratch)-g.from, err)
			}
			b.scratch = append(b.scratch, call)
		}
	}
	g.to = len(b.scratch)
	b.groups = append(b.groups, g)
	return w.err
}

// protoBalance parses TokenBalance and appends it to to.
func (b *builder) protoBalance(to []chain.TokenBalance, data []byte) ([]chain.TokenBalance, error) {
	if len(to) >= maxBalances {
		return nil, malformed("more than %d token balances", maxBalances)
	}
	var t chain.TokenBalance
	minted := false
	w := walk{rest: data}
	for w.next() {
		var err error
		switch {
		case w.varint(1):
			t.AccountIndex = int(w.n)
			err = bounded(nil, w.n, maxKeys-1, "account index")
		case w.message(2):
			minted = true
			t.Mint, err = b.recent.key(w.v)
		case w.message(3):
			err = protoAmount(&t, w.v)
		case w.message(4) && len(w.v) > 0:
			t.Owner, err = b.recent.key(w.v)
		case w.message(5) && len(w.v) > 0:
			t.Program, err = b.recent.key(w.v)
		}
		if err != nil {
			return nil, fmt.Errorf("token balance %d: %w", len(to), err)
		}
	}
	if w.err == nil && !minted {
		return nil, malformed("token balance %d: without mint", len(to))
	}
	return append(to, t), w.err
}

// protoAmount parses UiTokenAmount.
func protoAmount(t *chain.TokenBalance, data []byte) (err error) {
	w := walk{rest: data}
	for w.next() && err == nil {
		switch {
		case w.varint(2):
			t.Decimals = uint8(w.n)
			err = bounded(nil, w.n, 255, "decimals")
		case w.message(3):
			t.Amount, err = parseAmount(w.v)
		}
	}
	if err != nil {
		return err
	}
	return w.err
}
