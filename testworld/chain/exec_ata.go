package chain

import (
	"strconv"

	"github.com/mintlake/mintlake/testworld/layout"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// addressCache remembers derived addresses. A full map is emptied, so its memory is bounded.
type addressCache struct {
	byPair map[[96]byte]Key
	limit  int
	byMint map[Key]Key
	byUser map[Key]Key
	// byArray are tick arrays and bin arrays.
	byArray map[arrayID]Key
	// pools are the pool addresses that the generator itself derived.
	pools map[Key]bool
}

func newAddressCache() *addressCache {
	return &addressCache{byPair: make(map[[96]byte]Key), limit: 1 << 17, byMint: map[Key]Key{}, byUser: map[Key]Key{}, byArray: map[arrayID]Key{}, pools: map[Key]bool{}}
}

// associated returns the owner's associated token account for the mint.
func (c *addressCache) associated(owner, mint, tokenProgram Key) Key {
	var id [96]byte
	copy(id[:32], owner[:])
	copy(id[32:64], mint[:])
	copy(id[64:], tokenProgram[:])
	if k, ok := c.byPair[id]; ok {
		return k
	}
	if len(c.byPair) >= c.limit {
		clear(c.byPair)
	}
	k := AssociatedAddress(owner, mint, tokenProgram)
	c.byPair[id] = k
	return k
}

// metadata returns the address of the mint's Metaplex metadata.
func (c *addressCache) metadata(mint Key) Key {
	if k, ok := c.byMint[mint]; ok {
		return k
	}
	if len(c.byMint) >= c.limit {
		clear(c.byMint)
	}
	k := MetadataAddress(mint)
	c.byMint[mint] = k
	return k
}

// volume returns the address of PumpSwap's account of what a user traded.
func (c *addressCache) volume(user Key) Key {
	if k, ok := c.byUser[user]; ok {
		return k
	}
	if len(c.byUser) >= c.limit {
		clear(c.byUser)
	}
	k, _ := pda(PumpSwapProgram, []byte("user_volume_accumulator"), user[:])
	c.byUser[user] = k
	return k
}

// arrayID is a pool's array by its number.
type arrayID struct {
	pool   Key
	number int32
}

// array returns the address of a pool's array, which derive makes.
func (c *addressCache) array(pool Key, number int32, derive func(pool Key, number int32) Key) Key {
	id := arrayID{pool, number}
	if k, ok := c.byArray[id]; ok {
		return k
	}
	if len(c.byArray) >= c.limit {
		clear(c.byArray)
	}
	k := derive(pool, number)
	c.byArray[id] = k
	return k
}

// runAssociated is the associated token account program: Create (no data or 0) and CreateIdempotent
// (1). Accounts: payer, associated account, owner, mint, system program, token program.
func runAssociated(x *machine, f *frame) error {
	x.used += 14_500
	idempotent := len(f.data) > 0 && f.data[0] == 1
	if len(f.data) > 1 || len(f.data) == 1 && f.data[0] > 1 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(6); err != nil {
		return err
	}
	if idempotent {
		x.log("Program log: CreateIdempotent")
	} else {
		x.log("Program log: Create")
	}
	payer, ata, owner, mint, token := f.accs[0], f.accs[1], f.accs[2], f.accs[3], f.accs[5]
	if x.derived.associated(x.key(owner), x.key(mint), x.key(token)) != x.key(ata) {
		x.log("Program log: Error: Associated address does not match seed derivation")
		return fail(ErrInvalidSeeds)
	}
	if idempotent && x.acc(ata).Owner == x.key(token) && layout.IsTokenAccount(x.acc(ata).Data) {
		return nil
	}
	if x.acc(ata).Owner != SystemProgram {
		return fail(ErrInvalidArgument) // the program says IllegalOwner
	}
	return createAssociated(x, f, payer, ata, owner, mint, token)
}

// createAssociated makes the account as the real program does: it asks the token program for the
// size, creates the account and initializes it with an immutable owner.
func createAssociated(x *machine, f *frame, payer, ata, owner, mint, token ref) error {
	program := x.key(token)
	sizeData := []byte{layout.TagAccountDataSize, layout.ExtImmutableOwner, 0}
	if err := x.call(f, program, []ref{{idx: mint.idx}}, sizeData); err != nil {
		return err
	}
	size := layout.TokenAccountSize
	if len(x.meta.ReturnData) == 8 {
		size = int(x.meta.ReturnData[0]) | int(x.meta.ReturnData[1])<<8
	}
	signed := ref{idx: ata.idx, signer: true, writable: true}
	if err := x.call(f, SystemProgram, []ref{{idx: payer.idx, signer: payer.signer, writable: true}, signed},
		createAccountData(RentExempt(size), size, program)); err != nil {
		return err
	}
	x.log("Program log: Initialize the associated token account")
	if err := x.call(f, program, []ref{{idx: ata.idx, writable: true}}, []byte{layout.TagImmutableOwner}); err != nil {
		return err
	}
	k := x.key(owner)
	return x.call(f, program, []ref{{idx: ata.idx, writable: true}, {idx: mint.idx}}, append([]byte{layout.TagInitializeAccount3}, k[:]...))
}
