package geyser

import (
	"iter"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// session turns ledger events into updates for one subscriber.
type session struct {
	srv    *Server
	filter *filter
	emit   func(*pb.SubscribeUpdate) error
	bank   uint64 // of the block that is being sent; 0 if it is not told
}

// optional returns a number, or nil for 0.
func optional(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

func (s *session) send(names []string, u *pb.SubscribeUpdate) error {
	if len(names) == 0 {
		return nil
	}
	u.Filters, u.CreatedAt = names, timestamppb.New(s.srv.now())
	return s.emit(u)
}

// handle sends all updates that an event causes under the session's filter: the block's content
// first, then the status.
func (s *session) handle(ev ledger.Event) error {
	if level, ok := levelOf(ev.Kind); ok && level == s.filter.commitment {
		c := s.srv.convert(ev.Entry.Block)
		s.bank = s.srv.bank(ev.Entry)
		for _, step := range []func(*converted) error{s.accounts, s.transactions, s.entries, s.blocks, s.metas} {
			if err := step(c); err != nil {
				return err
			}
		}
	}
	return s.slot(ev)
}

// bank returns the id of a block's bank; 0 if the server tells none.
func (s *Server) bank(e *ledger.Entry) uint64 {
	if s.cfg.WithoutBankIDs {
		return 0
	}
	return e.Bank
}

// levelOf returns the commitment that a slot reaches by an event; false if it reaches none.
func levelOf(k ledger.EventKind) (ledger.Commitment, bool) {
	switch k {
	case ledger.SlotProcessed:
		return ledger.Processed, true
	case ledger.SlotConfirmed:
		return ledger.Confirmed, true
	case ledger.SlotFinalized:
		return ledger.Finalized, true
	case ledger.SlotFirstShred, ledger.SlotCreatedBank, ledger.SlotCompleted, ledger.SlotDead:
	}
	return 0, false
}

func statusOf(k ledger.EventKind) pb.SlotStatus {
	switch k {
	case ledger.SlotFirstShred:
		return pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED
	case ledger.SlotCreatedBank:
		return pb.SlotStatus_SLOT_CREATED_BANK
	case ledger.SlotCompleted:
		return pb.SlotStatus_SLOT_COMPLETED
	case ledger.SlotConfirmed:
		return pb.SlotStatus_SLOT_CONFIRMED
	case ledger.SlotFinalized:
		return pb.SlotStatus_SLOT_FINALIZED
	case ledger.SlotDead:
		return pb.SlotStatus_SLOT_DEAD
	case ledger.SlotProcessed:
	}
	return pb.SlotStatus_SLOT_PROCESSED
}

// slot sends the slot's new status. Filters get the statuses other than processed, confirmed and
// finalized only if they ask for interim ones. A filter by commitment gets only the status of the
// subscription's commitment.
func (s *session) slot(ev ledger.Event) error {
	level, plain := levelOf(ev.Kind)
	var to []string
	for _, f := range s.filter.slots {
		if (!f.byCommitment || plain && level == s.filter.commitment) && (f.interim || plain) {
			to = append(to, f.name)
		}
	}
	u := &pb.SubscribeUpdateSlot{Slot: ev.Slot, Status: statusOf(ev.Kind)}
	switch ev.Kind {
	case ledger.SlotFirstShred, ledger.SlotCompleted:
	case ledger.SlotCreatedBank, ledger.SlotProcessed, ledger.SlotConfirmed, ledger.SlotFinalized:
		u.Parent, u.BankId = &ev.Entry.Block.Parent, optional(s.srv.bank(ev.Entry))
	case ledger.SlotDead: // names no bank
		u.Parent = &ev.Entry.Block.Parent
	}
	if ev.Kind == ledger.SlotDead {
		reason := "invalid block: duplicate entry hash (simulated)"
		u.DeadError = &reason
	}
	return s.send(to, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: u}})
}

// accounts sends each write of the block that a filter matches.
func (s *session) accounts(c *converted) error {
	if len(s.filter.accounts) == 0 {
		return nil
	}
	for w := range s.writes(c.block) {
		var to []string
		for i := range s.filter.accounts {
			if s.filter.accounts[i].match(w.Write) {
				to = append(to, s.filter.accounts[i].name)
			}
		}
		if len(to) == 0 {
			continue
		}
		if err := s.send(to, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{
			Account: &pb.SubscribeUpdateAccount{Account: s.slice(w.info()), Slot: c.block.Slot, BankId: optional(s.bank)}}}); err != nil {
			return err
		}
	}
	return nil
}

// writes visits what the block's transactions wrote: at processed in their order, later each
// account once, as the block left it.
func (s *session) writes(b *chain.Block) iter.Seq[write] {
	if s.filter.commitment == ledger.Processed {
		return writes(b)
	}
	return lastWrites(b)
}

// slice cuts the account's data to the ranges that the client asked for. A range that reaches
// beyond the data is left out.
func (s *session) slice(info *pb.SubscribeUpdateAccountInfo) *pb.SubscribeUpdateAccountInfo {
	if len(s.filter.slices) == 0 {
		return info
	}
	var out []byte
	size := uint64(len(info.Data))
	for _, r := range s.filter.slices {
		if r.GetOffset() < size && r.GetLength() <= size-r.GetOffset() {
			out = append(out, info.Data[r.GetOffset():r.GetOffset()+r.GetLength()]...)
		}
	}
	info.Data = out
	return info
}

func matching(filters []txFilter, tx *chain.Tx, keys []chain.Key) (to []string) {
	for i := range filters {
		if filters[i].match(tx, keys) {
			to = append(to, filters[i].name)
		}
	}
	return to
}

// transactions sends each transaction, and its status, to the filters that match it.
func (s *session) transactions(c *converted) error {
	if len(s.filter.txs)+len(s.filter.statuses) == 0 {
		return nil
	}
	for i, tx := range c.block.Txs {
		if err := s.send(matching(s.filter.txs, tx, c.keys[i]), &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Transaction{
			Transaction: &pb.SubscribeUpdateTransaction{Transaction: c.txs[i], Slot: c.block.Slot, BankId: s.bank}}}); err != nil {
			return err
		}
		st := &pb.SubscribeUpdateTransactionStatus{Slot: c.block.Slot, Signature: tx.Signatures[0][:], IsVote: tx.Vote, Index: c.txs[i].Index,
			Err: c.txs[i].Meta.Err, BankId: s.bank}
		if err := s.send(matching(s.filter.statuses, tx, c.keys[i]), &pb.SubscribeUpdate{
			UpdateOneof: &pb.SubscribeUpdate_TransactionStatus{TransactionStatus: st}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) entries(c *converted) error {
	if len(s.filter.entries) == 0 {
		return nil
	}
	for _, e := range entries(c.block) {
		e.BankId = s.bank
		if err := s.send(s.filter.entries, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Entry{Entry: e}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) metas(c *converted) error {
	if len(s.filter.metas) == 0 {
		return nil
	}
	m := blockMeta(c.block)
	m.BankId = s.bank
	return s.send(s.filter.metas, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: m}})
}

// blocks sends the block once per filter, each with its own selection, as the real server does.
func (s *session) blocks(c *converted) error {
	for i := range s.filter.blocks {
		f := &s.filter.blocks[i]
		u := blockUpdate(c.block)
		u.BankId = s.bank
		if f.txs {
			u.Transactions = c.txs
			if len(f.include) > 0 {
				u.Transactions = c.selected(f.include)
			}
		}
		if f.accounts {
			u.Accounts = s.blockAccounts(c, f)
		}
		if f.entries {
			u.Entries = entries(c.block)
			for _, e := range u.Entries {
				e.BankId = s.bank
			}
		}
		if err := s.send([]string{f.name}, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: u}}); err != nil {
			return err
		}
	}
	return nil
}

func (c *converted) selected(include keySet) (out []*pb.SubscribeUpdateTransactionInfo) {
	for i := range c.txs {
		if include.any(c.keys[i]) {
			out = append(out, c.txs[i])
		}
	}
	return out
}

// blockAccounts returns the block's writes that the filter wants.
func (s *session) blockAccounts(c *converted, f *blockFilter) (out []*pb.SubscribeUpdateAccountInfo) {
	for w := range s.writes(c.block) {
		if _, ok := f.include[w.Key]; ok || len(f.include) == 0 {
			out = append(out, s.slice(w.info()))
		}
	}
	return out
}
