package svmtest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// Machine is a LiteSVM in a process of its own, which keeps its accounts between transactions. It
// is for one goroutine.
type Machine struct {
	t    testing.TB
	in   io.Writer
	out  *bufio.Scanner
	logs *logs
}

// Account is an account in the format of the scripts. Lamports is a decimal string.
type Account struct {
	Key      string `json:"key"`
	Owner    string `json:"owner"`
	Lamports string `json:"lamports"`
	Data     []byte `json:"data"`
}

// Listed converts accounts to the format of the scripts.
func Listed(accounts map[venue.Key]*solana.Account) []Account {
	list := []Account{}
	for key, a := range accounts {
		list = append(list, Account{key.String(), a.Owner.String(), strconv.FormatUint(a.Lamports, 10), a.Data})
	}
	return list
}

// Ran is the result of a transaction.
type Ran struct {
	// Err is empty if it succeeded.
	Err   string
	Logs  []string
	Units uint32
	// Inner has the calls that each outer instruction made, by the index of that instruction.
	Inner [][]Call
	// Accounts are the transaction's accounts, as they were after it. The value is nil for an
	// account that does not exist.
	Accounts map[venue.Key]*solana.Account
}

// Call is an inner instruction. Program and Accounts are indexes of the transaction's accounts.
type Call struct {
	Height   int    `json:"height"`
	Program  int    `json:"program"`
	Accounts []int  `json:"accounts"`
	Data     []byte `json:"data"`
}

// Start starts a machine that has no programs of venues yet.
func Start(t testing.TB) *Machine {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", filepath.Join(Tool(t), "serve.mjs")) //nolint:gosec // a file of this repository
	in, err := node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	m := &Machine{t: t, in: in, out: bufio.NewScanner(out), logs: &logs{}}
	node.Stderr = m.logs
	m.out.Buffer(nil, 64<<20)
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = node.Wait()
	})
	return m
}

// logs keeps the first maxLogs bytes that a process writes.
type logs struct {
	mu   sync.Mutex
	text []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[:min(len(p), maxLogs-len(l.text))]...)
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

const maxLogs = 4096

// ask sends a line and reads its answer.
func (m *Machine) ask(line map[string]any, answer any) {
	m.t.Helper()
	raw, err := json.Marshal(line)
	require.NoError(m.t, err)
	_, err = m.in.Write(append(raw, '\n'))
	require.NoError(m.t, err)
	require.True(m.t, m.out.Scan(), "LiteSVM ended: %v", m.logs)
	require.NoError(m.t, json.Unmarshal(m.out.Bytes(), answer))
}

// Load loads the programs of a build, in place of any loaded before.
func (m *Machine) Load(dir string) {
	m.t.Helper()
	for name, program := range Programs {
		m.Program(program, filepath.Join(dir, name))
	}
}

// Program loads a program from a file, in place of what was loaded before at its address.
func (m *Machine) Program(program venue.Key, file string) {
	m.t.Helper()
	m.ask(map[string]any{"t": "program", "key": program.String(), "file": file}, &struct{}{})
}

// Set adds or replaces accounts.
func (m *Machine) Set(accounts map[venue.Key]*solana.Account) {
	m.t.Helper()
	m.ask(map[string]any{"t": "set", "accounts": Listed(accounts)}, &struct{}{})
}

// Clock sets the chain's clock.
func (m *Machine) Clock(c venue.Clock) {
	m.t.Helper()
	m.ask(map[string]any{"t": "clock", "slot": c.Slot, "epoch": c.Epoch, "time": c.UnixTime}, &struct{}{})
}

// Run executes a transaction and keeps its effects.
func (m *Machine) Run(wire []byte) *Ran {
	m.t.Helper()
	var answer struct {
		Err      string
		Logs     []string
		Units    uint32
		Inner    [][]Call
		Accounts []Account
	}
	m.ask(map[string]any{"t": "run", "wire": base64.StdEncoding.EncodeToString(wire)}, &answer)
	ran := &Ran{Err: answer.Err, Logs: answer.Logs, Units: answer.Units, Inner: answer.Inner, Accounts: map[venue.Key]*solana.Account{}}
	for _, a := range answer.Accounts {
		key, err := pubkey.Parse(a.Key)
		require.NoError(m.t, err)
		if a.Owner == "" {
			ran.Accounts[key] = nil
			continue
		}
		account := &solana.Account{Data: a.Data}
		account.Owner, err = pubkey.Parse(a.Owner)
		require.NoError(m.t, err)
		account.Lamports, err = strconv.ParseUint(a.Lamports, 10, 64)
		require.NoError(m.t, err)
		ran.Accounts[key] = account
	}
	return ran
}
