package chain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
)

// svmAccount and svmLine are the lines that tools/svm-check/check.mjs reads.
type svmAccount struct {
	T        string `json:"t,omitempty"`
	Key      string `json:"key"`
	Lamports string `json:"lamports"`
	Owner    string `json:"owner"`
	Data     string `json:"data"`
}

type svmLine struct {
	T       string       `json:"t"`
	ID      string       `json:"id,omitempty"`
	Kind    string       `json:"kind,omitempty"`
	Slot    uint64       `json:"slot,omitempty"`
	Time    int64        `json:"time,omitempty"`
	Wire    string       `json:"wire,omitempty"`
	Wires   []string     `json:"wires,omitempty"`
	Err     string       `json:"err"`
	Inner   [][]string   `json:"inner,omitempty"`
	Units   uint64       `json:"units"`
	Post    []svmAccount `json:"post"`
	Compare []string     `json:"compare"`
}

func svmState(w Write) svmAccount {
	a := w.Account
	if a == nil {
		a = &Account{Owner: SystemProgram}
	}
	return svmAccount{Key: w.Key.String(), Lamports: strconv.FormatUint(a.Lamports, 10), Owner: a.Owner.String(), Data: base64.StdEncoding.EncodeToString(a.Data)}
}

// svmHas names the programs that LiteSVM runs.
func svmHas(k Key) bool {
	switch k {
	case SystemProgram, TokenProgram, Token2022Program, AssociatedProgram, MemoProgram, ComputeBudgetProgram, LookupTableProgram:
		return true
	}
	return false
}

func svmTx(id string, tx *Tx) svmLine {
	line := svmLine{ID: id, Post: []svmAccount{}, Compare: []string{}, Units: tx.Meta.ComputeUnits}
	for _, w := range tx.Writes {
		line.Post = append(line.Post, svmState(w))
	}
	whole := true
	for _, ix := range tx.Message.Instructions {
		whole = whole && svmHas(tx.Message.Keys[ix.Program])
		line.Kind += tx.Message.Keys[ix.Program].String()[:4]
		if len(ix.Data) > 0 {
			line.Kind += fmt.Sprintf(":%d ", ix.Data[0])
		}
	}
	switch {
	case tx.Vote || !whole && tx.Meta.Err != nil:
		line.T = "sync"
	case tx.Meta.Err != nil && tx.Meta.Err.Kind == ErrLoadedSize: // for which LiteSVM takes no fee
		line.T = "sync"
	case whole:
		svmWhole(&line, tx)
	default:
		line.T = "steps"
		line.Wires = svmSteps(tx)
		for _, w := range tx.Writes {
			if w.Account != nil && (w.Account.Owner == TokenProgram || w.Account.Owner == Token2022Program) {
				line.Compare = append(line.Compare, w.Key.String())
			}
		}
	}
	return line
}

func svmWhole(line *svmLine, tx *Tx) {
	line.T, line.Wire = "tx", base64.StdEncoding.EncodeToString(tx.Wire())
	if e := tx.Meta.Err; e != nil {
		number := e.Kind
		if number > ErrCustom {
			number-- // LiteSVM counts them without Custom
		}
		line.Err = fmt.Sprintf("%d:plain %d", e.Index, number)
		if e.Kind == ErrCustom {
			line.Err = fmt.Sprintf("%d:custom %d", e.Index, e.Custom)
		}
	}
	line.Inner = make([][]string, len(tx.Message.Instructions))
	for i := range line.Inner {
		line.Inner[i] = []string{}
	}
	for _, in := range tx.Meta.Inner {
		for _, ix := range in.Instructions {
			line.Inner[in.Index] = append(line.Inner[in.Index], fmt.Sprintf("%d %d %s %s", ix.StackHeight, ix.Program, hex.EncodeToString(ix.Accounts), hex.EncodeToString(ix.Data)))
		}
	}
}

// svmSteps flattens a transaction: each instruction that LiteSVM can run, as its own transaction,
// paid by a stranger. Calls made by a program that it lacks become outer instructions; their
// accounts all sign, which stands for the program's own signatures.
func svmSteps(tx *Tx) (out []string) {
	keys := tx.Message.AccountKeys()
	payer := deriveSigner(1, "svm payer", 0).Key
	add := func(ix *CompiledInstruction, all bool) {
		i := Instruction{Program: keys[ix.Program], Data: ix.Data}
		for _, a := range ix.Accounts {
			i.Accounts = append(i.Accounts, AccountMeta{Key: keys[a], Signer: all || tx.Message.IsSigner(int(a)), Writable: tx.Message.IsWritable(int(a))})
		}
		m, err := compile(payer, []Instruction{i}, txwire.Legacy, nil, Hash{})
		if err != nil {
			panic(err)
		}
		t := Tx{Message: m, Signatures: make([]Signature, m.Header[0])}
		out = append(out, base64.StdEncoding.EncodeToString(t.Wire()))
	}
	for i := range tx.Message.Instructions {
		ix := &tx.Message.Instructions[i]
		if svmHas(keys[ix.Program]) {
			add(ix, false)
			continue
		}
		for _, in := range tx.Meta.Inner {
			if int(in.Index) != i {
				continue
			}
			// calls deeper than this belong to a program that LiteSVM ran itself
			covered := uint32(99)
			for j := range in.Instructions {
				c := &in.Instructions[j]
				if c.StackHeight > covered {
					continue
				}
				covered = 99
				if svmHas(keys[c.Program]) {
					covered = c.StackHeight
					add(&c.CompiledInstruction, true)
				}
			}
		}
	}
	return out
}

// writeSVMSample writes the lines for a number of slots of a busy little chain.
func writeSVMSample(t *testing.T, path string, slots int) {
	t.Helper()
	g, err := New(Config{Seed: 12, TPS: 400, Tokens: 120, Wallets: 48})
	require.NoError(t, err)
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	payer := deriveSigner(1, "svm payer", 0).Key
	for _, a := range append(g.Genesis(), Write{Key: payer, Account: &Account{Lamports: 1 << 50}}) {
		if a.Account.Executable || a.Account.Owner == VoteProgram || a.Account.Owner == SysvarOwner {
			continue
		}
		s := svmState(a)
		s.T = "account"
		require.NoError(t, enc.Encode(s))
	}
	seen := map[string]int{}
	for range slots {
		s, _ := g.Next(nil)
		require.NoError(t, s.Block.Sign())
		for _, tx := range s.Block.Txs {
			countKinds(seen, tx)
		}
		require.NoError(t, enc.Encode(svmLine{T: "slot", Slot: s.Number, Time: s.Block.Time, Post: []svmAccount{}, Compare: []string{}}))
		for i, tx := range s.Block.Txs {
			require.NoError(t, enc.Encode(svmTx(fmt.Sprintf("%d/%d", s.Number, i), tx)))
		}
	}
	for _, kind := range []string{"spl 0", "spl 3", "spl 4", "spl 5", "spl 6", "spl 7", "spl 8", "spl 9", "spl 10", "spl 11", "spl 12", "spl 14", "spl 15", "spl 17", "spl 18", "spl 20", "spl 21", "spl 22",
		"spl 38", "spl 45", "spl 255", "t22 6", "t22 7", "t22 8", "t22 12", "t22 18", "t22 20", "t22 21", "t22 22", "t22 25", "t22 26/0", "t22 26/1", "t22 26/2", "t22 26/4", "t22 39",
		"t22 27", "t22 28", "t22 32", "t22 33", "t22 35", "t22 36", "t22 40", "t22 41", "t22 43", "t22 44", "t22 46", "t22 210", "t22 215", "t22 221"} {
		require.Positive(t, seen[kind], "the sample lacks instruction %s: %v", kind, seen)
	}
	for _, a := range assigns(t, g) {
		require.NoError(t, enc.Encode(svmTx(a.what, a.tx)))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
}

// countKinds counts the successful token instructions of a transaction by their first byte,
// transfer fee ones by the second too.
func countKinds(seen map[string]int, tx *Tx) {
	if tx.Meta.Err != nil {
		return
	}
	keys := tx.Message.AccountKeys()
	count := func(ix *CompiledInstruction) {
		if len(ix.Data) == 0 {
			return
		}
		kind := fmt.Sprint(ix.Data[0])
		switch keys[ix.Program] {
		case TokenProgram:
			seen["spl "+kind]++
		case Token2022Program:
			if ix.Data[0] == 26 {
				kind += fmt.Sprintf("/%d", ix.Data[1])
			}
			seen["t22 "+kind]++
		}
	}
	for i := range tx.Message.Instructions {
		count(&tx.Message.Instructions[i])
	}
	for _, in := range tx.Meta.Inner {
		for i := range in.Instructions {
			count(&in.Instructions[i].CompiledInstruction)
		}
	}
}

// nodeTools finds node and npm and installs the pinned packages; without them the test is skipped,
// or fails when MINTLAKE_REQUIRE_SVM=1.
func nodeTools(t *testing.T, dir string) string {
	t.Helper()
	missing := func(format string, args ...any) {
		if os.Getenv("MINTLAKE_REQUIRE_SVM") == "1" {
			t.Fatalf(format, args...)
		}
		t.Skipf(format+" (set MINTLAKE_REQUIRE_SVM=1 to make this a failure)", args...)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed: the LiteSVM check is left out")
	}
	if err := testkit.NodePackages(dir); err != nil {
		missing("%v", err)
	}
	return node
}

// TestLiteSVMAgrees runs a sample of the chain in LiteSVM, on the real token programs: the same
// transactions succeed and fail, with the same codes, the same inner instructions and the same
// accounts, byte by byte.
func TestLiteSVMAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs node")
	}
	dir := filepath.Join(testkit.Root(t), "tools", "svm-check")
	node := nodeTools(t, dir)
	sample := filepath.Join(t.TempDir(), "sample.jsonl")
	writeSVMSample(t, sample, 75)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(dir, "check.mjs"), sample)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var r struct {
		Transactions, Steps, Accounts, Inner, Failed int
		Units                                        map[string]struct{ N, Demo, Real int }
		Mismatches                                   []struct {
			ID, What  string
			Want, Got any
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &r), errOut.String())
	for _, m := range r.Mismatches {
		t.Errorf("%s: %s\n  demo    %v\n  litesvm %v", m.ID, m.What, m.Want, m.Got)
	}
	require.NoError(t, err, errOut.String())
	require.Greater(t, r.Transactions, 500)
	require.Greater(t, r.Steps, 500)
	require.Greater(t, r.Failed, 50)
	t.Logf("%d transactions and %d single calls, %d accounts, %d inner instructions agree", r.Transactions, r.Steps, r.Accounts, r.Inner)
}
