package txwire_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
)

// drawn draws transactions. What it draws is mostly valid.
type drawn struct{ *rand.Rand }

func (d drawn) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(d.Uint32())
	}
	return out
}

func (d drawn) places(n, below int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(d.IntN(below))
	}
	return out
}

// length is most often short, and at times at the edge of a byte or of a compact-u16.
func (d drawn) length(edges ...int) int {
	if d.IntN(12) == 0 {
		return edges[d.IntN(len(edges))]
	}
	return d.IntN(6)
}

func (d drawn) transaction() *txwire.Transaction {
	t := &txwire.Transaction{Version: txwire.Version(d.IntN(3) - 1), Lifetime: d.bytes(32)}
	signers, others := 1+d.IntN(3), 1+d.length(20, 61, 62, 63, 64, 100)
	if d.IntN(20) == 0 {
		signers = 1 + d.IntN(14)
	}
	t.Header = txwire.Header{Signers: uint8(signers), ReadonlySigners: uint8(d.IntN(signers)), ReadonlyOthers: uint8(d.IntN(others + 1))}
	for range signers {
		t.Signatures = append(t.Signatures, d.bytes(64))
	}
	for range signers + others {
		t.Keys = append(t.Keys, d.bytes(32))
	}
	if d.IntN(20) == 0 {
		t.Keys[d.IntN(len(t.Keys))] = t.Keys[d.IntN(len(t.Keys))]
	}
	all := len(t.Keys)
	for range d.IntN(3) {
		if t.Version == txwire.V0 {
			w, r := d.length(100, 127, 128), d.length(100, 127, 128)
			t.Lookups = append(t.Lookups, txwire.Lookup{Table: d.bytes(32), Writable: d.bytes(w), Readonly: d.bytes(r)})
			all += w + r
		}
	}
	for range d.length(0, 63, 64, 65, 127, 128) {
		t.Instructions = append(t.Instructions, txwire.Instruction{
			Program: uint8(1 + d.IntN(len(t.Keys)-1)), Accounts: d.places(d.length(0, 127, 128, 255), min(all, 256)), Data: d.bytes(d.length(0, 127, 128, 255, 256, 1000)),
		})
	}
	if t.Version == txwire.V1 {
		t.Config = d.config()
	}
	return t
}

func (d drawn) config() (c txwire.Config) {
	number := func() *uint32 {
		n := d.Uint32()
		return &n
	}
	if d.IntN(2) == 0 {
		fee := d.Uint64()
		c.PriorityFee = &fee
	}
	if d.IntN(2) == 0 {
		c.ComputeUnitLimit = number()
	}
	if d.IntN(2) == 0 {
		c.LoadedAccountsDataSizeLimit = number()
	}
	if d.IntN(2) == 0 {
		heap := uint32(32+d.IntN(225)) << 10
		if d.IntN(10) == 0 {
			heap = d.Uint32()
		}
		c.HeapSize = &heap
	}
	return c
}

// mutate changes bytes as an attacker or a broken sender would.
func (d drawn) mutate(data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + d.IntN(2) {
		at := d.IntN(len(data))
		if d.IntN(2) == 0 {
			at = min(at, d.IntN(140)) // where counts and lengths are
		}
		switch d.IntN(6) {
		case 0:
			data[at] = byte(d.Uint32())
		case 1:
			data[at] ^= 1 << d.IntN(8)
		case 2:
			data = data[:max(at, 1)]
		case 3:
			data = append(data, d.bytes(1+d.IntN(70))...)
		case 4:
			data = slices.Insert(data, at, byte(d.Uint32()))
		case 5:
			// a length in more bytes than it needs
			data = slices.Concat(data[:at], []byte{data[at] | 0x80, 0}, data[at+1:])
		}
	}
	return data
}

// said is what is read in a transaction, in the form of tools/txoracle.
func said(data []byte) string {
	var t txwire.Transaction
	if t.Parse(data) != nil {
		return "refused"
	}
	join := func(n int, text func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = text(i)
		}
		if n == 0 {
			return "-"
		}
		return strings.Join(list, ",")
	}
	parts := []string{
		"read", t.Version.String(), fmt.Sprintf("%d,%d,%d", t.Header.Signers, t.Header.ReadonlySigners, t.Header.ReadonlyOthers), hex.EncodeToString(t.Lifetime),
		join(len(t.Signatures), func(i int) string { return hex.EncodeToString(t.Signatures[i]) }),
		join(len(t.Keys), func(i int) string { return hex.EncodeToString(t.Keys[i]) }),
		join(len(t.Instructions), func(i int) string {
			ix := t.Instructions[i]
			return fmt.Sprintf("%d:%x:%x", ix.Program, ix.Accounts, ix.Data)
		}),
		join(len(t.Lookups), func(i int) string { l := t.Lookups[i]; return fmt.Sprintf("%x:%x:%x", l.Table, l.Writable, l.Readonly) }),
	}
	if t.Version == txwire.V1 {
		text := "-"
		if fee := t.Config.PriorityFee; fee != nil {
			text = strconv.FormatUint(*fee, 10)
		}
		for _, n := range []*uint32{t.Config.ComputeUnitLimit, t.Config.LoadedAccountsDataSizeLimit, t.Config.HeapSize} {
			if n == nil {
				text += ",-"
			} else {
				text += "," + strconv.FormatUint(uint64(*n), 10)
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// differences are what an oracle may say otherwise, with the reason.
var differences = map[string]func(t *txwire.Transaction) bool{
	// solana-message 4, on which solders is built, refuses in sanitize what only the runtime does;
	// solana-message 6 does not. Neither looks at the length.
	"limits of version 1": func(t *txwire.Transaction) bool {
		return t.Version == txwire.V1 && t.CheckLimits(0) != nil
	},
}

// TestOracle: random transactions, valid and damaged, are read as Solana's own code reads them.
// MINTLAKE_TEST_TXORACLE is the command of an oracle (tools/txoracle/run.sh), and
// MINTLAKE_TEST_TXORACLE_LIMITS=1 says that it refuses what is above the limits of version 1.
func TestOracle(t *testing.T) {
	command := strings.Fields(os.Getenv("MINTLAKE_TEST_TXORACLE"))
	if len(command) == 0 {
		t.Skip("tools/txoracle/run.sh runs this test")
	}
	strict := os.Getenv("MINTLAKE_TEST_TXORACLE_LIMITS") == "1"
	seed, count := uint64(1), 20_000
	if text := os.Getenv("MINTLAKE_TEST_TXORACLE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	d := drawn{rand.New(rand.NewPCG(seed, 0))}
	var inputs [][]byte
	var lines bytes.Buffer
	for range count {
		raw, err := d.transaction().Append(nil)
		require.NoError(t, err)
		if d.IntN(3) > 0 {
			raw = d.mutate(raw)
		}
		inputs = append(inputs, raw)
		fmt.Fprintf(&lines, "%x\n", raw)
	}
	oracle := exec.Command(command[0], command[1:]...)
	oracle.Stdin, oracle.Stderr = &lines, os.Stderr
	out, err := oracle.Output()
	require.NoError(t, err)
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, answers, count)
	read, excused := map[string]int{}, map[string]int{}
	for i, raw := range inputs {
		got := said(raw)
		if got == answers[i] {
			read[strings.Join(strings.Fields(got + " -")[:2], " ")]++
			continue
		}
		var tx txwire.Transaction
		require.NoError(t, tx.Parse(raw), "seed %d, transaction %d: refused here, the oracle says %s\n%x", seed, i, answers[i], raw)
		require.Equal(t, "refused", answers[i], "seed %d, transaction %d: %x", seed, i, raw)
		why := ""
		for reason, holds := range differences {
			if strict && holds(&tx) {
				why = reason
			}
		}
		require.NotEmpty(t, why, "seed %d, transaction %d: read here, the oracle refuses\n%x", seed, i, raw)
		excused[why]++
	}
	t.Log(read, excused)
	for _, version := range []string{"legacy", "0", "1"} {
		require.Greater(t, read["read "+version], count/20, "enough of each version is valid")
	}
	require.Greater(t, read["refused -"], count/10)
}
