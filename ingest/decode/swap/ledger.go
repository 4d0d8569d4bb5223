package swap

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// node is one instruction. Nodes are in the order of execution; end is the index after the node's
// subtree.
type node struct {
	call         *chain.Call
	outer, inner int
	height, end  int
	// venue is the index of the venue whose program is called; none if it is no venue's. aggregator
	// is the same for aggregators.
	venue, aggregator int16
	// silent means a precompile, which logs nothing.
	silent bool
}

// flow is one movement of tokens. from is none if tokens are minted, to is none if they are burned.
type flow struct {
	node     int
	from, to int
	amount   uint64
	// fee is what a Token-2022 mint withheld of amount: the receiver got amount - fee. said means
	// that the instruction itself states the fee. fee22 means that a fee is possible.
	fee   uint64
	said  bool
	fee22 bool
}

// balance is what the node that sent the block reports of one token account. settled means that the
// movements explain the balance after the transaction.
type balance struct {
	mint, owner      pubkey.Key
	pre, post        uint64
	decimals         uint8
	known            bool
	hasPre, hasPost  bool
	token22, settled bool
}

// ledger is one transaction as a list of instructions, movements and balances. It is reused for the
// next transaction.
type ledger struct {
	tx       *chain.Transaction
	venues   []Venue
	nodes    []node
	flows    []flow
	balances [maxKeys]balance // by the account's index, as in, out and over
	touched  []int            // the accounts with a reported balance
	in, out  [maxKeys]uint64  // the sums of the movements in and out, without stated fees
	over     [maxKeys]bool    // a sum exceeds 64 bits

	source   uint32 // where the event that was visited last comes from: byEvent or byLog
	logs     []logEvent
	logsRead bool
	// The rest is scratch space.
	stack  []int
	buffer []byte
	shapes []Shape
	pre    []uint64
	post   []uint64
}

const (
	maxKeys = 256
	// maxData is more than any instruction can hold (MAX_CPI_INSTRUCTION_DATA_LEN is 10 KiB).
	maxData = 16 << 10
)

// layOut clears what is left of the transaction before, and fills the ledger with tx.
func (l *ledger) layOut(tx *chain.Transaction, programs *programs) {
	l.tx, l.logsRead = tx, false
	l.nodes, l.logs = l.nodes[:0], l.logs[:0]
	for _, i := range l.touched {
		l.balances[i] = balance{}
	}
	for i := range l.flows {
		// sum has set token22 also of accounts without a balance, which are not in touched.
		if to := l.flows[i].to; to != none {
			l.balances[to].token22 = false
		}
	}
	l.touched, l.flows = l.touched[:0], l.flows[:0]
	l.in, l.out, l.over = [maxKeys]uint64{}, [maxKeys]uint64{}, [maxKeys]bool{}
	for i := range tx.PreBalances {
		l.report(&tx.PreBalances[i], true)
	}
	for i := range tx.PostBalances {
		l.report(&tx.PostBalances[i], false)
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		first := len(l.nodes)
		l.add(programs, &outer.Call, i, -1)
		l.nodes[first].height = 1
		for j := range outer.Inner {
			l.add(programs, &outer.Inner[j], i, j)
		}
		l.findEnds(first)
	}
	l.settle()
}

// report notes a token balance before or after the transaction.
func (l *ledger) report(b *chain.TokenBalance, before bool) {
	if b.AccountIndex < 0 || b.AccountIndex >= maxKeys {
		return
	}
	known := &l.balances[b.AccountIndex]
	if !known.known {
		l.touched = append(l.touched, b.AccountIndex)
		*known = balance{mint: b.Mint, owner: b.Owner, decimals: b.Decimals, known: true}
	}
	if before {
		known.pre, known.hasPre = b.Amount, true
	} else {
		known.post, known.hasPost = b.Amount, true
	}
}

func (l *ledger) balance(account int) *balance {
	if account < 0 || account >= maxKeys {
		return &balance{}
	}
	return &l.balances[account]
}

// add appends an instruction and notes the movements of a token instruction.
func (l *ledger) add(programs *programs, call *chain.Call, outer, inner int) {
	at := len(l.nodes)
	n := node{call: call, outer: outer, inner: inner, height: call.StackHeight, venue: none, aggregator: none}
	switch p := programs.at(call.ProgramIndex); p.kind {
	case isToken, isToken22:
		l.tokens(at, call, p.kind == isToken22)
	case isVenue:
		n.venue = p.index
	case isAggregator:
		n.aggregator = p.index
	case isPrecompile:
		n.silent = true
	case isUnknown:
	}
	l.nodes = append(l.nodes, n)
}

// findEnds sets the ends of the outer instruction at first and of all calls inside it. If the stack
// height of a call is unknown, as in old blocks, guessEnd guesses its end.
func (l *ledger) findEnds(first int) {
	l.nodes[first].end = len(l.nodes)
	l.stack = append(l.stack[:0], first)
	for i := first + 1; i < len(l.nodes); i++ {
		n := &l.nodes[i]
		if n.height <= 1 {
			l.guessEnd(i)
			continue
		}
		for len(l.stack) > 1 && l.nodes[l.stack[len(l.stack)-1]].height >= n.height {
			l.nodes[l.stack[len(l.stack)-1]].end = i
			l.stack = l.stack[:len(l.stack)-1]
		}
		l.stack = append(l.stack, i)
	}
	for _, i := range l.stack[1:] {
		l.nodes[i].end = len(l.nodes)
	}
}

// guessEnd sets the end of a node whose stack height is unknown. The subtree of a venue ends before
// the next call of an aggregator, of another venue or of the venue itself, because a venue makes no
// such calls inside a swap. Events that the venue sends to itself stay inside. Any other node ends
// with its own call.
func (l *ledger) guessEnd(i int) {
	n := &l.nodes[i]
	n.end = i + 1
	if n.venue < 0 {
		return
	}
	for n.end < len(l.nodes) {
		next := &l.nodes[n.end]
		if next.aggregator >= 0 || next.venue >= 0 && next.call.ProgramIndex != n.call.ProgramIndex {
			return
		}
		if next.call.ProgramIndex == n.call.ProgramIndex && !isSelfCall(next.call.Data) {
			return
		}
		n.end++
	}
}

// tokens notes the movements of one token instruction.
func (l *ledger) tokens(at int, call *chain.Call, token22 bool) {
	if len(call.Data) > maxData {
		return
	}
	if !spltoken.IsBatch(call.Data) {
		l.token(at, call, token22)
		return
	}
	// A malformed Batch cannot have succeeded. The token decoder reports it.
	parts, _ := spltoken.SplitBatch(call)
	for i := range parts {
		l.token(at, &parts[i], token22)
	}
}

// Instructions of SPL Token that move tokens. Token-2022 has them too (program/src/instruction.rs
// of both).
const (
	tagTransfer        = 3
	tagMintTo          = 7
	tagBurn            = 8
	tagTransferChecked = 12
	tagMintToChecked   = 14
	tagBurnChecked     = 15
	tagTransferFee     = 26 // Token-2022's extension; 1 = TransferCheckedWithFee
)

// token notes the movement of one token instruction that is not a Batch. Other instructions move
// nothing.
func (l *ledger) token(at int, call *chain.Call, token22 bool) {
	d := call.Data
	if len(d) < 9 {
		return
	}
	f := flow{node: at, from: none, to: none, amount: binary.LittleEndian.Uint64(d[1:])}
	switch d[0] {
	case tagTransfer:
		f.from, f.to = account(call, 0), account(call, 1)
	case tagTransferChecked:
		f.from, f.to = account(call, 0), account(call, 2)
	case tagMintTo, tagMintToChecked:
		f.to = account(call, 1)
	case tagBurn, tagBurnChecked:
		f.from = account(call, 0)
	case tagTransferFee:
		if !token22 || d[1] != 1 || len(d) < 19 {
			return
		}
		f.from, f.to, f.amount = account(call, 0), account(call, 2), binary.LittleEndian.Uint64(d[2:])
		f.fee, f.said = min(binary.LittleEndian.Uint64(d[11:]), f.amount), true
	default:
		return
	}
	f.fee22 = token22 && f.from != none && f.to != none
	l.flows = append(l.flows, f)
	l.sum(&f)
}

// sum adds the movement to the sums of its two accounts, and notes a sum that exceeds 64 bits. If a
// fee is possible, it sets token22 of the receiver's balance.
func (l *ledger) sum(f *flow) {
	var carry uint64
	if f.to != none {
		l.in[f.to], carry = bits.Add64(l.in[f.to], f.amount-f.fee, 0)
		l.over[f.to] = l.over[f.to] || carry > 0
		l.balances[f.to].token22 = l.balances[f.to].token22 || f.fee22
	}
	if f.from != none {
		l.out[f.from], carry = bits.Add64(l.out[f.from], f.amount, 0)
		l.over[f.from] = l.over[f.from] || carry > 0
	}
}

// account returns the transaction's index of the call's i-th account; none if there is none.
func account(call *chain.Call, i int) int {
	if i < 0 || i >= len(call.Accounts) {
		return none
	}
	return int(call.Accounts[i])
}

// none is the index of something that is absent.
const none = -1

// inside returns the movements in the subtree of a node.
func (l *ledger) inside(at int) []flow {
	from, end := l.search(at), l.search(l.nodes[at].end)
	return l.flows[from:end]
}

// search returns the index of the first movement of the node at, or of a later node.
func (l *ledger) search(at int) int {
	return sort.Search(len(l.flows), func(i int) bool { return l.flows[i].node >= at })
}
