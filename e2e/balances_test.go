package e2e

import (
	"bytes"
	"encoding/base64"
	little "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/schemas"
)

// dumpBalances are the rows of balances that users can see, once all holders are counted.
func (i *instance) dumpBalances() map[string][]string {
	i.t.Helper()
	i.awaitCounts()
	return map[string][]string{
		"account_states":   i.query("SELECT * EXCEPT (account_key) FROM mintlake.account_states ORDER BY mint, account FORMAT TSV"),
		"balance_changes":  i.query("SELECT * FROM mintlake.balance_changes ORDER BY mint, account, position FORMAT TSV"),
		"token_accounts":   i.query("SELECT * FROM mintlake.token_accounts ORDER BY mint, account FORMAT TSV"),
		"wallet":           i.query("SELECT * FROM mintlake.wallet ORDER BY owner, mint, account FORMAT TSV"),
		"transfers":        i.query("SELECT * FROM mintlake.transfers ORDER BY mint, position, signature FORMAT TSV"),
		"wallet_transfers": i.query("SELECT * FROM mintlake.wallet_transfers ORDER BY owner, position, signature, direction FORMAT TSV"),
		"holder_counts":    i.query("SELECT * EXCEPT (counted_at) FROM mintlake.holder_counts ORDER BY mint FORMAT TSV"),
	}
}

// awaitCounts waits until the holders of all mints are counted, and none is to be counted again
// since a creation or a pool came late.
func (i *instance) awaitCounts() {
	i.t.Helper()
	const waiting = `SELECT count() FROM (SELECT mint, sum(upto) AS touched FROM
		(SELECT mint, partition, max(touched) AS upto FROM mintlake.balance_mints_raw GROUP BY mint, partition) GROUP BY mint) AS b
		LEFT JOIN (SELECT mint, touched FROM mintlake.holder_counts_raw FINAL) AS h ON b.mint = h.mint WHERE b.touched != h.touched`
	late, err := os.ReadFile("../holders/sql/late.sql")
	require.NoError(i.t, err)
	again := "SELECT count() FROM (\n" + strings.ReplaceAll(string(late), "{database}", "mintlake") + ")"
	until(i.t, func() bool {
		return slices.Equal(i.query(waiting), []string{"0"}) && slices.Equal(i.query(again), []string{"0"})
	}, 100*time.Millisecond, "holders are not counted")
}

// held is what a token account holds, by account, as the chain or the tables have it.
type held map[string]string

// accountsOnChain asks a node for all token accounts, by mint. If states is not nil, it gets by
// account whether it is frozen, who may spend from it, and how much.
func accountsOnChain(t *testing.T, rpc string, states map[string][]string) map[string]held {
	t.Helper()
	all := map[string]held{}
	for _, program := range []string{schemas.ProgramToken, schemas.ProgramToken2022} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"getProgramAccounts","params":["%s",{"encoding":"base64","commitment":"confirmed"}]}`, program)
		resp, err := http.Post(rpc, "application/json", bytes.NewBufferString(body))
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		var listed struct {
			Result []struct {
				Pubkey  string
				Account struct{ Data []string }
			}
		}
		require.NoError(t, json.Unmarshal(answer, &listed), string(answer))
		require.NotEmpty(t, listed.Result)
		for _, a := range listed.Result {
			data, err := base64.StdEncoding.DecodeString(a.Account.Data[0])
			require.NoError(t, err)
			if len(data) < 165 || len(data) > 165 && data[165] != 2 || data[108] == 0 {
				continue // a mint, or an account that is not open
			}
			mint := base58.Encode(data[:32])
			if all[mint] == nil {
				all[mint] = held{}
			}
			all[mint][a.Pubkey] = fmt.Sprintf("%s %d", base58.Encode(data[32:64]), little.LittleEndian.Uint64(data[64:]))
			if states != nil {
				delegate := ""
				if data[72] == 1 {
					delegate = base58.Encode(data[76:108])
				}
				states[a.Pubkey] = []string{fmt.Sprint(data[108] == 2), delegate, fmt.Sprint(little.LittleEndian.Uint64(data[121:]))}
			}
		}
	}
	return all
}

// accountsInTables are the open accounts of a mint.
func (i *instance) accountsInTables(mint string) held {
	i.t.Helper()
	return i.heldBy("SELECT account, owner, amount FROM mintlake.token_accounts WHERE mint = '" + mint + "'")
}

func (i *instance) heldBy(query string) held {
	i.t.Helper()
	accounts := held{}
	for _, row := range i.query(query + " FORMAT TSV") {
		columns := bytes.Split([]byte(row), []byte("\t"))
		accounts[string(columns[0])] = string(columns[1]) + " " + string(columns[2])
	}
	return accounts
}

// TestBalancesEqualTheChain: a node follows a chain, is killed while it does, and reads a base of
// mints in the middle of trading, of which the largest takes pages of several slots. Of every mint
// that it says is whole, it has the accounts that the chain has; sums are the supplies.
func TestBalancesEqualTheChain(t *testing.T) {
	t.Parallel()
	node := startDemo(t, demo.Config{Seed: 32, TPS: 200, Tokens: 60, SlotTime: 100 * time.Millisecond, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	flags := append(kafkaFlags(t), "--source", "geyser+http://"+node.GeyserAddr(), "--rpc-upstream", node.RPCURL(),
		"--balances-mode", "all", "--rate-limits-enabled=false")
	dir := t.TempDir()
	up := launch(t, dir, flags...)
	enough := goOnEvery(t, node, 100*time.Millisecond)
	for range 3 {
		from := node.Slot()
		until(t, func() bool { return up.status().Source.Slot > from+10 }, 100*time.Millisecond)
		up.kill()
		up = launch(t, dir, flags...)
	}
	from := node.Slot()
	until(t, func() bool { return up.status().Source.Slot > from }, 100*time.Millisecond)
	var old []string // mints that are older than the node are not whole
	until(t, func() bool {
		old = up.query("SELECT mint FROM mintlake.holder_counts WHERE NOT complete ORDER BY holders DESC LIMIT 8")
		return len(old) == 8
	}, 100*time.Millisecond)
	stores := []string{"--kafka-brokers", up.addresses["kafka"], "--clickhouse-dsn", up.addresses["clickhouse"], "--data-dir", t.TempDir()}
	run := func(args ...string) string {
		out, err := exec.Command(binary, append(args, stores...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	list := filepath.Join(t.TempDir(), "mints.txt")
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(old, "\n")), 0o600))
	// At ten a second, pages of eight accounts have slots of their own.
	out := run("bootstrap", "holders", "--mints", list, "--rpc-upstream", node.RPCURL(), "--page-limit", "8", "--rps", "10")
	require.Regexp(t, `accounts at slot \d+ to \d+`, out)

	last := enough()
	until(t, func() bool {
		s := up.status()
		return s.Source.Slot >= last && s.Pipeline.LagRecords != nil && *s.Pipeline.LagRecords == 0
	}, 100*time.Millisecond)
	up.awaitCounts()
	states := map[string][]string{}
	chain := accountsOnChain(t, node.RPCURL(), states)
	complete := up.query("SELECT mint FROM mintlake.holder_counts WHERE complete ORDER BY mint")
	require.Greater(t, len(complete), 20)
	for _, mint := range old {
		require.Contains(t, complete, mint, "%s", out)
	}
	for _, mint := range complete {
		if len(chain[mint]) == 0 {
			chain[mint] = held{}
		}
		require.Equal(t, chain[mint], up.accountsInTables(mint), mint)
	}
	up.requireStates(complete, states)
	require.Empty(t, up.query("SELECT * FROM mintlake.supply_conservation WHERE complete AND missing != 0"))

	traded := filepath.Join(t.TempDir(), "traded.txt")
	until(t, func() bool { // volumes may still be computed
		run("balances", "list", "--above-usd", "1", "--file", traded, "--drop")
		text, err := os.ReadFile(traded)
		require.NoError(t, err)
		want := up.query("SELECT mint FROM mintlake.tokens WHERE daily_volume_usd >= 1 ORDER BY mint")
		return len(want) > 0 && slices.Equal(slices.Sorted(slices.Values(strings.Fields(string(text)))), want)
	}, 100*time.Millisecond)
	require.Zero(t, up.stop(), up.log())
}

// requireStates compares who may spend from accounts, and which are frozen, with the chain. Of open
// accounts of complete mints all delegates are known, and hardly one whether it is frozen is not.
func (i *instance) requireStates(complete []string, chain map[string][]string) {
	i.t.Helper()
	rows := i.query(`SELECT mint, account, ifNull(toString(is_frozen), '?'), ifNull(delegate, '?'), ifNull(toString(delegated_amount), '?') FROM mintlake.account_states
		WHERE (mint, account) IN (SELECT mint, account FROM mintlake.token_accounts) FORMAT TSV`)
	known, unknown, frozen, delegated := 0, 0, 0, 0
	for _, row := range rows {
		got := strings.Split(row, "\t")
		want := chain[got[1]]
		require.NotNil(i.t, want, row)
		if got[2] == "?" {
			unknown++
		} else {
			known++
			require.Equal(i.t, want[0], got[2], row)
		}
		if slices.Contains(complete, got[0]) {
			require.NotEqual(i.t, "?", got[3], row)
		}
		if got[3] != "?" {
			require.Equal(i.t, want[1:], got[3:], row)
		}
		if want[0] == "true" {
			frozen++
		}
		if want[1] != "" {
			delegated++
		}
	}
	i.t.Logf("%d accounts, of %d it is not known whether they are frozen; %d are frozen, %d have a delegate", len(rows), unknown, frozen, delegated)
	require.Greater(i.t, known, 10*unknown)
	require.NotZero(i.t, frozen)
	require.NotZero(i.t, delegated)
}
