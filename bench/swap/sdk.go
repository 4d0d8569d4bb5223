package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
)

// mostSDK is the part of the SDK's time that a quote may take.
const mostSDK = 1.0 / 20

// packages are the SDKs, by the names that the table shows. They are installed for the run and not
// linked.
var packages = map[string]string{
	"raydium_amm_v4":    "@raydium-io/raydium-sdk-v2@0.2.73-alpha",
	"raydium_cpmm":      "@raydium-io/raydium-sdk-v2@0.2.73-alpha",
	"meteora_damm_v2":   "@meteora-ag/cp-amm-sdk@1.5.0",
	"pumpswap":          "@pump-fun/pump-swap-sdk@1.20.0",
	"meteora_damm_v1":   "@meteora-ag/dynamic-amm-sdk@1.4.1",
	"meteora_dbc":       "@meteora-ag/dynamic-bonding-curve-sdk@1.5.12",
	"raydium_clmm":      "@raydium-io/raydium-sdk-v2@0.2.73-alpha",
	"orca_whirlpool":    "@orca-so/whirlpools-core@3.1.0",
	"meteora_dlmm":      "@meteora-ag/dlmm@1.9.14",
	"raydium_launchlab": "@raydium-io/raydium-sdk-v2@0.2.73-alpha",
}

// sdks measures quotes of each venue against the venue's own SDK on the same accounts, in a process
// of its own. It is an error if an amount differs.
func sdks(r *report.Report) error {
	modules, err := install()
	if err != nil {
		return err
	}
	product, err := cpmmTemplate()
	if err != nil {
		return err
	}
	pump, err := pumpTemplate()
	if err != nil {
		return err
	}
	damm, err := dammTemplate()
	if err != nil {
		return err
	}
	for _, t := range []*template{ammTemplate(), product, damm, pump} {
		coin := swaptest.Named("coin")
		mints := [2]pubkey.Key{coin, mint.WrappedSOL}
		if t == product && string(coin[:]) > string(mint.WrappedSOL[:]) {
			mints[0], mints[1] = mints[1], mints[0]
		}
		if err := beside(r, modules, t.pool("quoted", mints, [2]uint64{123_456_789_012, 987_654_321_098}), amounts(1_234_567)); err != nil {
			return fmt.Errorf("%s: %w", t.venue.Name(), err)
		}
	}
	recorded, err := meteoraPools()
	if err != nil {
		return err
	}
	launched, err := launchPools()
	if err != nil {
		return err
	}
	for _, p := range append(recorded, launched...) {
		if err := beside(r, modules, p, amounts(1_234_567)); err != nil {
			return fmt.Errorf("%s%s: %w", p.venue.Name(), p.form, err)
		}
	}
	deep, err := deepPools()
	if err != nil {
		return err
	}
	for _, p := range deep {
		// The largest of these amounts cross ticks, or bins.
		distance := uint64(10_000_000_000)
		if p.venue == venue.Venue(clmm.Raydium) { // up to a tick of another array
			distance = 25_000_000_000
		}
		if err := beside(r, modules, p, amounts(distance)); err != nil {
			return fmt.Errorf("%s: %w", p.venue.Name(), err)
		}
	}
	return nil
}

// amounts are 64 of them, at equal distances.
func amounts(distance uint64) (list []uint64) {
	for i := range uint64(64) {
		list = append(list, 1_000_003+i*distance)
	}
	return list
}

// install puts the SDKs in a folder beside the program, and returns it.
func install() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(filepath.Dir(self), "bench-swap-sdk")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		return "", err
	}
	args := []string{"install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"}
	seen := map[string]bool{}
	for _, name := range packages {
		if !seen[name] {
			seen[name] = true
			args = append(args, name)
		}
	}
	npm := exec.Command("npm", args...)
	npm.Dir, npm.Stderr = folder, os.Stderr
	return folder, npm.Run()
}

// beside quotes amounts of both tokens of a pool by both.
func beside(r *report.Report, modules string, p *pool, amounts []uint64) error {
	state, err := decode(p)
	if err != nil {
		return err
	}
	clock := venue.Clock{Slot: 400_000_000, Epoch: 926, UnixTime: 1_753_750_263}
	theirs, err := ask(modules, p, clock, amounts)
	if err != nil {
		return err
	}
	var orders []venue.Order
	for side, answers := range theirs.Answers {
		for i, answer := range answers {
			order := venue.Order{In: p.mints[side], Amount: amounts[i], Clock: clock}
			quote, err := state.Quote(order)
			if err != nil {
				return fmt.Errorf("%d of %s: %w", amounts[i], p.mints[side], err)
			}
			if answer != strconv.FormatUint(quote.AmountOut, 10) {
				return fmt.Errorf("%d of %s give %d, by the SDK %s", amounts[i], p.mints[side], quote.AmountOut, answer)
			}
			orders = append(orders, order)
		}
	}
	var times []float64
	for range rounds / 10 {
		began := time.Now()
		for _, order := range orders {
			if _, err := state.Quote(order); err != nil {
				return err
			}
		}
		times = append(times, float64(time.Since(began).Nanoseconds())/float64(len(orders)))
	}
	ours := median(times)
	r.Add(report.Figure{
		Name: "quote of " + p.venue.Name() + p.form, Value: ours / 1000, Unit: "µs", Peer: packages[p.venue.Name()], PeerValue: theirs.Nanoseconds / 1000,
		Goal: "ratio <= 1/20", Met: ours <= mostSDK*theirs.Nanoseconds, Note: fmt.Sprintf("%d equal amounts, %.0f times", len(orders), theirs.Nanoseconds/ours),
	})
	return nil
}

type sdkAnswer struct {
	Answers     [][]string `json:"answers"`
	Nanoseconds float64    `json:"nanoseconds"`
}

func ask(modules string, p *pool, clock venue.Clock, amounts []uint64) (*sdkAnswer, error) {
	accounts := map[string][]byte{}
	for key, a := range p.all() {
		if a != nil {
			accounts[key.String()] = a.Data
		}
	}
	texts := make([]string, len(amounts))
	for i, a := range amounts {
		texts[i] = strconv.FormatUint(a, 10)
	}
	question, err := json.Marshal(map[string]any{
		"venue": p.venue.Name(), "pool": p.accounts[0].key, "accounts": accounts, "amounts": texts, "slot": clock.Slot, "time": clock.UnixTime,
	})
	if err != nil {
		return nil, err
	}
	node := exec.Command("node", filepath.Join("swap", "sdk", "quotes.mjs"))
	node.Env = append(os.Environ(), "SDK_MODULES="+modules)
	var failed bytes.Buffer
	node.Stdin, node.Stderr = bytes.NewReader(question), &failed
	out, err := node.Output()
	if err != nil {
		return nil, fmt.Errorf("node: %w: %s", err, failed.Bytes())
	}
	var a sdkAnswer
	return &a, json.Unmarshal(out, &a)
}
