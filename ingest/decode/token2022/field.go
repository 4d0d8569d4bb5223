package token2022

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// field is one field of an instruction's data, and how to read it as an attribute's value.
type field struct {
	name string
	read func(*borsh.Reader) string
	// also is the name of a second attribute that the program sets to the same value; empty if
	// there is none.
	also string
}

func keyValue(key pubkey.Key) string {
	if key == (pubkey.Key{}) {
		return ""
	}
	return key.String()
}

// nonZeroKey reads a key. The value is empty for the zero key, which means none.
func nonZeroKey(c *borsh.Reader) string { return keyValue(c.Key()) }

// optionKey reads a flag and, if it is 1, a key. Otherwise the value is empty.
func optionKey(c *borsh.Reader) string {
	key := c.OptionKey()
	if key == nil {
		return ""
	}
	return key.String()
}

func decimalU16(c *borsh.Reader) string { return strconv.FormatUint(uint64(c.U16()), 10) }

func decimalI16(c *borsh.Reader) string {
	return strconv.FormatInt(int64(int16(c.U16())), 10)
}

func decimalU64(c *borsh.Reader) string { return strconv.FormatUint(c.U64(), 10) }

// timestamp reads Unix seconds. A negative time becomes 0, as in the program.
func timestamp(c *borsh.Reader) string {
	return strconv.FormatInt(max(0, int64(c.U64())), 10)
}

// cipher36 reads an AES ciphertext of 36 bytes.
func cipher36(c *borsh.Reader) string { return hex.EncodeToString(c.Bytes(36)) }

// decimalF64 reads a float and returns the shortest text that parses to the same number.
func decimalF64(c *borsh.Reader) string {
	return strconv.FormatFloat(math.Float64frombits(c.U64()), 'g', -1, 64)
}

// boolean reads a byte. Any value but 0 is true, as in the program.
func boolean(c *borsh.Reader) string { return strconv.FormatBool(c.U8() != 0) }

// accountState reads spl_token_2022_interface::state::AccountState.
func accountState(c *borsh.Reader) string {
	switch c.U8() {
	case 0:
		return "uninitialized"
	case 1:
		return "initialized"
	case 2:
		return "frozen"
	default:
		c.Fail(borsh.ErrValue)
		return ""
	}
}
