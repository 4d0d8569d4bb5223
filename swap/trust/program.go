package trust

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// Program is how a program is deployed.
type Program struct {
	Program venue.Key `json:"program"`
	// Slot is the slot of the deployment; 0 for a program that does not exist or cannot be deployed
	// again.
	Slot uint64 `json:"slot"`
	// SHA256 is the hash of the executable without trailing zeros, in hexadecimal, as solana-verify
	// prints it; empty until it is read.
	SHA256 string `json:"sha256"`
}

// mark identifies one deployment of a program.
type mark = solana.Deployment

// RPC reads accounts: *solana.Client.
type RPC = market.RPC

// programs are the programs that are watched, with their data accounts.
type programs struct {
	list []venue.Key
	data map[venue.Key]venue.Key
}

func newPrograms(venues venue.List) (*programs, error) {
	p := &programs{data: map[venue.Key]venue.Key{}}
	for _, v := range venues {
		for _, program := range v.Programs() {
			if _, known := p.data[program]; known {
				continue
			}
			address, ok := solana.ProgramDataAddress(program)
			if !ok {
				return nil, fmt.Errorf("%s has no data account", program.String())
			}
			p.list = append(p.list, program)
			p.data[program] = address
		}
	}
	return p, nil
}

// accounts returns the accounts that a deployment writes: each program and then its data account.
func (p *programs) accounts() []venue.Key {
	keys := make([]venue.Key, 0, 2*len(p.list))
	for _, program := range p.list {
		keys = append(keys, program, p.data[program])
	}
	return keys
}

// of returns the program that an account belongs to.
func (p *programs) of(account venue.Key) (venue.Key, bool) {
	for _, program := range p.list {
		if account == program || account == p.data[program] {
			return program, true
		}
	}
	return venue.Key{}, false
}

// read reads how the programs are deployed, at slot from or later.
func (p *programs) read(ctx context.Context, rpc RPC, from uint64) (slot uint64, marks map[venue.Key]mark, err error) {
	slot, accounts, err := rpc.GetMultipleAccounts(ctx, p.accounts(), solana.AccountOptions{
		Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: solana.DeploymentDataSize}, MinContextSlot: from,
	})
	if err != nil {
		return 0, nil, fmt.Errorf("read programs: %w", err)
	}
	if slot < from { // not every server knows minContextSlot
		return 0, nil, fmt.Errorf("read programs: the server is at slot %d, %d is wanted", slot, from)
	}
	marks = map[venue.Key]mark{}
	for i, program := range p.list {
		marks[program] = solana.DeploymentOf(program, p.data[program], accounts[2*i], accounts[2*i+1])
	}
	return slot, marks, nil
}

// errMoved is returned for a program that was deployed again while it was read.
var errMoved = errors.New("the program was deployed anew meanwhile")

// noCode is the sum of a program that does not exist.
const noCode = "none"

// sum reads the executable of a deployment and returns its hash.
func (p *programs) sum(ctx context.Context, rpc RPC, program venue.Key, m mark) (string, error) {
	_, accounts, err := rpc.GetMultipleAccounts(ctx, []venue.Key{m.Code}, solana.AccountOptions{Commitment: market.Commitment})
	if err != nil {
		return "", fmt.Errorf("read the executable of %s: %w", program.String(), err)
	}
	executable, same := m.Executable(accounts[0])
	if !same {
		return "", errMoved
	}
	return Sum(executable), nil
}

// Sum returns the hash that identifies an executable.
func Sum(executable []byte) string { return solana.ExecutableHash(executable) }
