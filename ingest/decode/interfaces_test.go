package decode_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/schemas"
)

// publishedInterface is what a program's published client knows of it; tools/svm-fixtures reads it
// out of the package.
type publishedInterface struct {
	Program      string `json:"program"`
	Package      string `json:"package"`
	Version      string `json:"version"`
	Instructions []struct {
		Name string `json:"name"`
		// Prefix is the data's first bytes, in hexadecimal, which tell the instruction.
		Prefix string `json:"prefix"`
	} `json:"instructions"`
}

func loadInterfaces(t testing.TB) []publishedInterface {
	t.Helper()
	raw, err := os.ReadFile(svmInterfaces)
	require.NoError(t, err)
	var interfaces []publishedInterface
	require.NoError(t, json.Unmarshal(raw, &interfaces))
	require.Len(t, interfaces, 3)
	return interfaces
}

// TestEveryInstructionIsKnown: each instruction of the programs' published interfaces has a
// decoder, or is ignored for a reason that package instruction words. The golden file lists which;
// an instruction that a new version of a package brings fails here until someone has decided.
func TestEveryInstructionIsKnown(t *testing.T) {
	var got strings.Builder
	for _, program := range loadInterfaces(t) {
		fmt.Fprintf(&got, "%s %s\n", program.Package, program.Version)
		for _, in := range program.Instructions {
			prefix, err := hex.DecodeString(in.Prefix)
			require.NoError(t, err)
			fmt.Fprintf(&got, "  %s: %s\n", in.Name, fate(t, program.Program, prefix))
		}
	}
	const golden = "testdata/svm/interfaces.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
}

// fate is what becomes of an instruction whose arguments are all zero and whose accounts are many.
func fate(t *testing.T, program string, prefix []byte) string {
	t.Helper()
	data := append(append([]byte{}, prefix...), make([]byte, 300)...)
	if spltoken.IsBatch(prefix) {
		data = joined(prefix, part(3, amount(7, 1)...))
	}
	var accounts []string
	for i := range 20 {
		accounts = append(accounts, fmt.Sprint("account ", i))
	}
	seen := &recorder{}
	events := decode.New(seen).Decode(invoke(t, program, data, accounts...), 1, 0)
	switch {
	case len(events) == 0:
		require.Len(t, seen.ignored, 1)
		return "ignored, " + strings.SplitN(seen.ignored[0], " ", 2)[1]
	case events[0].GetRaw() != nil:
		require.NotEqual(t, "unknown instruction", events[0].GetRaw().GetReason(), "%s %x has neither a decoder nor a reason", program, prefix)
		require.Fail(t, "zeros are refused", "%s %x: %s", program, prefix, events[0].GetRaw().GetReason())
	}
	return string(schemas.KindOf(events[0]))
}

// TestWhatNoInterfaceHasIsKept: every other first byte, and every other second byte behind a first
// one that has several, is a raw event.
func TestWhatNoInterfaceHasIsKept(t *testing.T) {
	decoder := decode.New(nil)
	for _, program := range loadInterfaces(t) {
		one, two := map[byte]bool{}, map[byte]map[byte]bool{}
		for _, in := range program.Instructions {
			prefix, err := hex.DecodeString(in.Prefix)
			require.NoError(t, err)
			switch len(prefix) {
			case 1:
				one[prefix[0]] = true
			case 2:
				if two[prefix[0]] == nil {
					two[prefix[0]] = map[byte]bool{}
				}
				two[prefix[0]][prefix[1]] = true
			}
		}
		for first := range 256 {
			if one[byte(first)] {
				continue
			}
			for second := range 256 {
				if two[byte(first)][byte(second)] {
					continue
				}
				data := append([]byte{byte(first), byte(second)}, make([]byte, 300)...)
				tx := invoke(t, program.Program, data, "a", "b", "c", "d", "e", "f", "g", "h")
				events := decoder.Decode(tx, 1, 0)
				require.Len(t, events, 1, "%s %x %x", program.Package, first, second)
				require.NotNil(t, events[0].GetRaw(), "%s %x %x", program.Package, first, second)
			}
		}
	}
}

// TestEveryInstructionRuns: the fixtures hold a successful run of every instruction of the two
// token programs.
func TestEveryInstructionRuns(t *testing.T) {
	run := map[string][][]byte{}
	add := func(tx *chain.Transaction, call *chain.Call) {
		program, ok := tx.Program(call)
		if !ok {
			return
		}
		name := text(program[:])
		run[name] = append(run[name], call.Data)
		if spltoken.IsBatch(call.Data) {
			parts, err := spltoken.SplitBatch(call)
			require.NoError(t, err)
			for i := range parts {
				run[name] = append(run[name], parts[i].Data)
			}
		}
	}
	for _, fixture := range loadSVM(t) {
		for i := range fixture.Steps {
			tx := &fixture.Steps[i].block(t).Transactions[0]
			for j := range tx.Instructions {
				if tx.Failed {
					continue
				}
				add(tx, &tx.Instructions[j].Call)
				for k := range tx.Instructions[j].Inner {
					add(tx, &tx.Instructions[j].Inner[k])
				}
			}
		}
	}
	for _, program := range loadInterfaces(t) {
		if program.Program == schemas.ProgramMetaplex {
			continue // not in LiteSVM; its vectors come from its client
		}
		for _, in := range program.Instructions {
			found := false
			for _, data := range run[program.Program] {
				found = found || strings.HasPrefix(hex.EncodeToString(data), in.Prefix)
			}
			require.True(t, found, "%s of %s", in.Name, program.Package)
		}
	}
}
