package parse

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
	"github.com/mintlake/mintlake/solana/txwire"
)

// maxWrapping bounds how deep a block or transaction may be nested in raw, result, params, value,
// block and lists.
const maxWrapping = 6

// maxReasons bounds how many errors are listed of one document.
const maxReasons = 10

// BlockJSON parses the result of getBlock for a slot, with or without its JSON-RPC envelope.
func (r Reader) BlockJSON(data []byte, slot uint64) (*chain.Block, error) {
	blocks, err := r.JSON(data, &slot)
	switch {
	case err != nil:
		return nil, err
	case len(blocks) != 1 || blocks[0].Transactions == nil && !blocks[0].Whole && !blocks[0].Partial():
		return nil, malformed("%d blocks where one was asked for", len(blocks))
	}
	return blocks[0], nil
}

// BlockHeaderJSON parses the result of getBlock with transactionDetails none: a block without
// transactions, with Whole false.
func BlockHeaderJSON(data []byte, slot uint64) (*chain.Block, error) {
	r := jsonwalk.New(data)
	f, err := gather(r, "blockhash", "previousBlockhash", "parentSlot", "blockTime", "blockHeight")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	b, ctx := &builder{}, context{}
	if err := Join(ctx.read(f), b.blockHeader(f)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	b.block.BlockTime = ctx.blockTime
	return b.finish(slot, false)
}

// JSON parses a document with a getBlock result, a blockSubscribe notification, or one or more
// getTransaction results. They may be bare, in a list, or nested in raw, result and the like.
// Transactions may have any encoding. Each lone transaction becomes a block of its own with Whole
// false. slot is the slot in the input's name, or nil; it must agree with the content. If a list
// has good and bad entries, JSON returns the good ones and an error about the bad ones.
func (r Reader) JSON(data []byte, slot *uint64) ([]*chain.Block, error) {
	d := document{reader: r, named: slot}
	walk := jsonwalk.New(data)
	err := d.value(walk, context{}, 0)
	if err == nil && !walk.End() {
		err = malformed("text goes on after the document")
	}
	switch {
	case err != nil:
		d.refuse(err)
	case d.failed > maxReasons:
		d.reasons = append(d.reasons, fmt.Errorf("and %d more", d.failed-maxReasons))
	}
	return d.blocks, Join(d.reasons...)
}

// document is the state of parsing one document. named is the slot in the document's name; nil if
// there is none.
type document struct {
	reader  Reader
	named   *uint64
	blocks  []*chain.Block
	reasons []error
	failed  int
}

func (d *document) refuse(err error) {
	if d.failed++; d.failed <= maxReasons {
		d.reasons = append(d.reasons, orSyntax(err))
	}
}

// context is what an outer object states about what is nested in it.
type context struct {
	slot      *uint64
	blockTime int64
}

// fields are the places of an object's values, by name. The object may have them in any order.
type fields map[string]jsonwalk.Reader

// gather returns the places of the named values of the object at r, except those that are null.
func gather(r *jsonwalk.Reader, names ...string) (fields, error) { return gatherWith(r, nil, names...) }

// gatherWith returns the places of the named values of the object at r, except those that are null.
// If list is not nil, it also reads the list of transactions in the same pass, because a block is
// too large to walk over twice.
func gatherWith(r *jsonwalk.Reader, list *blockList, names ...string) (fields, error) {
	f := fields{}
	err := r.Object(func(key []byte) error {
		for _, name := range names {
			if string(key) == name {
				if r.Null() {
					return nil
				}
				f[name] = *r
				if list != nil && name == "transactions" && r.Peek() == '[' {
					return list.read(r)
				}
				break
			}
		}
		return r.Skip()
	})
	return f, err
}

// blockList is a block's transactions. The block's header may come before or after them.
type blockList struct {
	reader Reader
	b      *builder
	err    error
}

// read reads the list at r. It keeps an error of the list in l.err until it is known that the list
// belongs to a block. The error that it returns means that the text is not even valid JSON.
func (l *blockList) read(r *jsonwalk.Reader) error {
	l.b = l.reader.builder()
	start := *r
	l.err = r.Array(func(i int) error {
		if i >= maxTransactions {
			return malformed("more than %d transactions", maxTransactions)
		}
		return l.b.jsonListed(r, i)
	})
	if l.err == nil {
		return nil
	}
	*r = start
	return r.Skip()
}

// jsonListed reads the transaction at r, which is the block's i-th. If it cannot be read, it goes
// to Block.Unread. The error means that the text is not valid JSON.
func (b *builder) jsonListed(r *jsonwalk.Reader, i int) error {
	b.block.Transactions = append(b.block.Transactions, chain.Transaction{Index: i})
	at := *r
	tx := &b.block.Transactions[len(b.block.Transactions)-1]
	err := b.jsonWholeEntry(tx, r)
	if err != nil {
		*r = at
		if r.Skip() != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
		b.leaveOut(at.Since(r), b.jsonReason(at, err))
		return nil
	}
	tx.Raw = b.raw(rawTransaction{form: rawJSON, all: at.Since(r), index: i})
	return nil
}

// jsonReason returns why the entry at r cannot be read: an error about its version if the version
// is unknown, or else err. An unknown version comes first, because such a transaction may have any
// form, so err may be a consequence.
func (b *builder) jsonReason(r jsonwalk.Reader, err error) error {
	if f, failed := gather(&r, "version"); failed == nil && f.has("version") {
		at := f["version"]
		if version := b.jsonVersion(&at, &message{}); errors.Is(version, ErrUnsupported) {
			return version
		}
	}
	return orSyntax(err)
}

// orSyntax marks an error of jsonwalk as malformed.
func orSyntax(err error) error {
	if errors.Is(err, jsonwalk.ErrSyntax) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return err
}

func (f fields) has(name string) bool { _, ok := f[name]; return ok }

// value parses the value at r: a list of values, or an object.
func (d *document) value(r *jsonwalk.Reader, ctx context, depth int) error {
	if depth > maxWrapping {
		return because(ErrNoTransaction, "wrapped deeper than %d", maxWrapping)
	}
	switch r.Peek() {
	case '[':
		return r.Array(func(i int) error {
			element := *r
			if err := r.Skip(); err != nil {
				return err
			}
			if err := d.value(&element, ctx, depth+1); err != nil {
				d.refuse(fmt.Errorf("element %d: %w", i, err))
			}
			return nil
		})
	case '{':
		return d.object(r, ctx, depth)
	case 'n':
		return because(ErrNoTransaction, "the document or its result is null")
	}
	return because(ErrNoTransaction, "neither an object nor a list")
}

// object parses an object: a block, a lone transaction, or a wrapper of one. For any other object,
// the error is the reason.
func (d *document) object(r *jsonwalk.Reader, ctx context, depth int) error {
	list := blockList{reader: d.reader}
	f, err := gatherWith(r, &list, "slot", "blockTime", "transactions", "transaction", "meta", "version", "transactionIndex", "raw", "result", "params",
		"value", "block", "context", "error", "lamports", "signatures", "blockhash", "previousBlockhash", "parentSlot", "blockHeight", "message")
	if err != nil {
		return err
	}
	if err := ctx.read(f); err != nil {
		return err
	}
	switch {
	case f.has("transactions"):
		return d.wholeBlock(list, f, ctx)
	case f.has("transaction"):
		return d.lone(f, ctx, depth)
	case f.has("blockhash") && f.has("parentSlot"):
		return because(ErrUnsupported, "a getBlock result without transactions (transactionDetails must be full)")
	}
	for _, name := range []string{"raw", "result", "params", "value", "block"} {
		if inner, ok := f[name]; ok {
			return d.value(&inner, ctx, depth+1)
		}
	}
	switch {
	case f.has("error"):
		return because(ErrNoTransaction, "an rpc error instead of a result")
	case f.has("lamports"):
		return because(ErrNoTransaction, "looks like an account")
	case f.has("message"):
		return because(ErrUnsupported, "a transaction without its metadata: whether it failed and what it called is unknown")
	}
	return ErrNoTransaction
}

// read sets slot and block time if f has them. An inner object overrides an outer one.
func (c *context) read(f fields) error {
	if at, ok := f["slot"]; ok {
		slot, err := at.Uint64()
		if err != nil {
			return fmt.Errorf("slot: %w", err)
		}
		c.slot = &slot
	}
	if at, ok := f["blockTime"]; ok {
		var err error
		if c.blockTime, err = at.Int64(); err != nil {
			return fmt.Errorf("blockTime: %w", err)
		}
	}
	return nil
}

// slotOf returns the slot according to content and name, which must agree.
func (d *document) slotOf(ctx context) (slot uint64, known bool, err error) {
	switch {
	case ctx.slot == nil && d.named == nil:
		return 0, false, nil
	case ctx.slot == nil:
		return *d.named, true, nil
	case d.named != nil && *d.named != *ctx.slot:
		return 0, false, malformed("is of slot %d, but named or asked for as %d", *ctx.slot, *d.named)
	}
	return *ctx.slot, true, nil
}

// wholeBlock makes a block of a getBlock result, whose transactions are in list.
func (d *document) wholeBlock(list blockList, f fields, ctx context) error {
	slot, known, err := d.slotOf(ctx)
	if err != nil {
		return err
	}
	if !known {
		return malformed("a getBlock result does not say its slot: it must be in the name (SLOT.json)")
	}
	if list.b == nil {
		at := f["transactions"]
		return at.Array(func(int) error { return nil }) // not a list: Array returns the error
	}
	b := list.b
	b.block.BlockTime = ctx.blockTime
	if err := b.blockHeader(f); err != nil {
		return err
	}
	if list.err != nil {
		return list.err
	}
	if err := b.wrongForm(); err != nil {
		return err
	}
	b.block.Executed = uint64(b.count())
	block, err := b.finish(slot, true)
	if err == nil {
		d.blocks = append(d.blocks, block)
	}
	return err
}

// wrongForm returns an error if no transaction could be read because the block is in a form that is
// not supported, for example with other transactionDetails than full. It returns nil if a
// transaction has an unknown version, or if all are malformed: such a block is partial.
func (b *builder) wrongForm() error {
	if len(b.block.Transactions) > 0 {
		return nil
	}
	for i := range b.block.Unread {
		var version *txwire.VersionError
		if errors.As(b.block.Unread[i].Err, &version) {
			return nil
		}
	}
	for i := range b.block.Unread {
		if one := &b.block.Unread[i]; errors.Is(one.Err, ErrUnsupported) {
			return fmt.Errorf("transaction %d: %w", one.Index, one.Err)
		}
	}
	return nil
}

// blockHeader reads the hashes and the parent, which every block must have, and the height.
func (b *builder) blockHeader(f fields) error {
	for name, key := range map[string]*pubkey.Key{"blockhash": &b.block.Blockhash, "previousBlockhash": &b.block.ParentBlockhash} {
		at, ok := f[name]
		if !ok {
			return malformed("block without %s", name)
		}
		if err := jsonKey(&at, key); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	at, ok := f["parentSlot"]
	if !ok {
		return malformed("block without parentSlot")
	}
	parent, err := at.Uint64()
	if err != nil {
		return fmt.Errorf("parentSlot: %w", err)
	}
	b.block.ParentSlot = &parent
	if at, ok := f["blockHeight"]; ok {
		height, err := at.Uint64()
		if err != nil {
			return fmt.Errorf("blockHeight: %w", err)
		}
		b.block.Height = &height
	}
	return nil
}

// lone makes a block of a getTransaction result, or of a lone transaction that a stream
// notification wraps once more.
func (d *document) lone(f fields, ctx context, depth int) error {
	at := f["transaction"]
	// {slot, transaction: {transaction, meta}}, as stream notifications wrap it
	if !f.has("meta") && at.Peek() == '{' {
		return d.value(&at, ctx, depth+1)
	}
	slot, _, err := d.slotOf(ctx)
	if err != nil {
		return err
	}
	b := d.reader.builder()
	b.block.BlockTime = ctx.blockTime
	b.block.Transactions = make([]chain.Transaction, 1)
	tx := &b.block.Transactions[0]
	tx.Index = -1
	if at, ok := f["transactionIndex"]; ok {
		index, err := at.Uint64()
		if err != nil || index >= maxIndex {
			return malformed("transactionIndex is no whole number below %d", maxIndex)
		}
		tx.Index = int(index)
	}
	if err := b.jsonEntry(tx, f); err != nil {
		return err
	}
	block, err := b.finish(slot, false)
	if err == nil {
		d.blocks = append(d.blocks, block)
	}
	return err
}
