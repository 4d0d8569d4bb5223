package jsonrpc

import "strings"

// effect is what a call does, which decides whether it may be made twice.
type effect int

const (
	// read changes nothing: it may be repeated, and sent to two upstreams at once.
	read effect = iota
	// send passes on a signed transaction. It may be repeated: the chain executes a signature at
	// most once.
	send
	// once has a new effect each time: it is never repeated.
	once
)

// method is what the gateway knows of a JSON-RPC method.
type method struct {
	name   string
	effect effect
	// level is the commitment of a call that names none.
	level commitment
	// config is the index of the parameter that takes minContextSlot; -1 if there is none.
	config int
	// namesSlot says that an answer names its slot, or does so if the call asks for it.
	namesSlot bool
	// lasting says that an answer at commitment finalized never changes.
	lasting bool
	// timeless says that an answer belongs to no slot, so sessions do not check it.
	timeless bool
}

// table has the known methods by name, as solana.com/docs/rpc/http and agave's rpc/src/rpc.rs
// describe them.
var table = func() map[string]*method {
	all := map[string]*method{}
	for _, name := range strings.Fields(methods) {
		all[name] = &method{name: name, level: finalized, config: -1}
	}
	for name, config := range map[string]int{
		"getSlot": 0, "getBlockHeight": 0, "getEpochInfo": 0, "getLatestBlockhash": 0, "getTransactionCount": 0, "getSlotLeader": 0,
		"getAccountInfo": 1, "getBalance": 1, "getFeeForMessage": 1, "getInflationReward": 1, "getMultipleAccounts": 1, "getProgramAccounts": 1,
		"getSignaturesForAddress": 1, "isBlockhashValid": 1, "simulateTransaction": 1, "getTokenAccountsByDelegate": 2, "getTokenAccountsByOwner": 2,
	} {
		all[name].config = config
	}
	for _, name := range []string{
		"getSlot", "getEpochInfo", "getLatestBlockhash", "getAccountInfo", "getBalance", "getFeeForMessage", "getMultipleAccounts", "getProgramAccounts",
		"isBlockhashValid", "simulateTransaction", "getTokenAccountsByDelegate", "getTokenAccountsByOwner", "getBlockProduction",
		"getSignatureStatuses", "getStakeMinimumDelegation", "getSupply", "getTokenAccountBalance", "getTokenLargestAccounts", "getTokenSupply",
	} {
		all[name].namesSlot = true
	}
	for _, name := range []string{"getBlock", "getTransaction", "getGenesisHash"} {
		all[name].lasting = true
	}
	for _, name := range []string{
		"getVersion", "getHealth", "getIdentity", "getGenesisHash", "getEpochSchedule", "getMinimumBalanceForRentExemption", "getFirstAvailableBlock",
		"minimumLedgerSlot", "getClusterNodes", "getMaxRetransmitSlot", "getMaxShredInsertSlot", "getHighestSnapshotSlot",
		"getRecentPerformanceSamples", "getRecentPrioritizationFees", "getAsset", "getAssets", "getAssetBatch", "searchAssets",
		"getTokenAccounts", "getAssetsByOwner", "getPriorityFeeEstimate",
		"getLargestAccounts", // nodes answer it from a cache that may be hours old
	} {
		all[name].timeless = true
	}
	all["getSignatureStatuses"].level = processed
	all["sendTransaction"].effect, all["requestAirdrop"].effect = send, once
	return all
}()

// methodOf returns a method. An unknown method, of which providers have many, is a read if its name
// begins like that of a read. Otherwise a call of it is never repeated.
func methodOf(name string) *method {
	if known, ok := table[name]; ok {
		return known
	}
	m := &method{name: name, effect: once, level: finalized, config: -1}
	for _, prefix := range []string{"get", "is", "search", "simulate"} {
		if strings.HasPrefix(name, prefix) {
			m.effect = read
		}
	}
	return m
}
