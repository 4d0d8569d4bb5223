package replica

import (
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Lookup returns a member of the registry, or nil.
func (r *Replica) Lookup(mint pubkey.Key) *registry.Token {
	number, ok := r.store.table.find(mint)
	if !ok {
		return nil
	}
	return r.store.tokenOf(number, mint, nil)
}

// Token returns the token of a row id, or nil if that mint is not a member (any more).
func (r *Replica) Token(id uint32) *registry.Token {
	key, ok := r.store.table.mint(id)
	if !ok {
		return nil
	}
	return r.store.tokenOf(id, key, nil)
}

// Lists returns the token lists that hold a member, sorted by name; nil for a mint that is not a
// member.
func (r *Replica) Lists(id uint32) (lists []registry.Listing) {
	if key, ok := r.store.table.mint(id); ok {
		r.store.readState(id, key, func(state *registry.State) { lists = state.Lists() })
	}
	return lists
}

// ID returns the row id of a mint, and whether it is a member of the registry. A mint keeps its row
// id while the process lives.
func (r *Replica) ID(mint pubkey.Key) (uint32, bool) {
	number, ok := r.store.table.find(mint)
	return number, ok && r.store.table.isMember(number)
}

// rowReader makes one row after the other in the same memory.
type rowReader struct {
	reader *packed.Reader
	packed []byte
	buf    registry.TokenBuffer
	token  registry.Token
	row    Row
}

// Row calls use with the row of a member. The row lies in pooled memory, so that a page of rows
// leaves no garbage: it is valid only until use returns, see type Row. Row returns false, and does
// not call use, if that mint is not a member (any more).
func (r *Replica) Row(id uint32, use func(row *Row)) (member bool) {
	s := r.store
	mint, _ := s.table.mint(id)
	reader := s.rowReaders.Get().(*rowReader) // the pool's New makes nothing else
	defer s.rowReaders.Put(reader)
	if reader.packed, member = s.table.append(reader.packed[:0], id); !member {
		return false
	}
	state := registry.StateOf(reader.reader.ReusedFacts(mint, reader.packed))
	reader.token, _ = state.TokenIn(mint, &reader.buf)
	s.volumes.show(id, &reader.token)
	reader.row = Row{ID: id, Mint: mint, Token: &reader.token, Extensions: state.Extensions(), TransferFee: state.TransferFee()}
	use(&reader.row)
	return true
}
