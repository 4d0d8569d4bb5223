package venue

import (
	"encoding/binary"
	"fmt"
)

// Padded returns data with zeros appended up to length. An account from before an upgrade of its
// program may be shorter than the layout of today.
func Padded(data []byte, length int) []byte {
	if len(data) >= length {
		return data
	}
	return append(append(make([]byte, 0, length), data...), make([]byte, length-len(data))...)
}

// FirstKey returns the first key that is not zero in a list of count keys, or the zero key. It is
// for lists of which a program accepts any key, such as fee recipients: always the same choice
// gives equal transactions for equal orders.
func FirstKey(data []byte, count int) Key {
	for i := 0; i < count && len(data) >= 32*(i+1); i++ {
		if k := Key(data[32*i : 32*(i+1)]); k != (Key{}) {
			return k
		}
	}
	return Key{}
}

// Owned returns the data of an account that must exist and belong to a program.
func Owned(state State, key, program Key) ([]byte, error) {
	account, held := state.Account(key)
	switch {
	case !held:
		return nil, fmt.Errorf("%w: %s", ErrUnread, key.String())
	case account == nil:
		return nil, fmt.Errorf("%w: %s is gone", ErrClosed, key.String())
	case account.Owner != program:
		return nil, fmt.Errorf("%w: %s is owned by another program", ErrMalformed, key.String())
	}
	return account.Data, nil
}

// Vault returns the balance of a pool's token account. program is the token program. The token
// account must be of the mint, initialized and not frozen.
func Vault(state State, key, mint, program Key) (uint64, error) {
	data, err := Owned(state, key, program)
	if err != nil {
		return 0, err
	}
	return decodeVault(data, mint)
}

// decodeVault reads a token account of either token program.
func decodeVault(data []byte, mint Key) (uint64, error) {
	const accountLength, amountAt, stateAt, initialized = 165, 64, 108, 1
	if len(data) < accountLength || Key(data[:32]) != mint {
		return 0, fmt.Errorf("%w: a vault of %d bytes", ErrMalformed, len(data))
	}
	if data[stateAt] != initialized {
		return 0, fmt.Errorf("%w: a vault is frozen", ErrClosed)
	}
	return binary.LittleEndian.Uint64(data[amountAt:]), nil
}
