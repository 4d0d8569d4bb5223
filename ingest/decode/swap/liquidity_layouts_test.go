package swap_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// layout is an instruction that adds or removes liquidity, as its program's source lays it out.
// Recorded blocks have few of them.
type layout struct {
	venue, program, name string
	// tag is the data's beginning in hexadecimal; empty for an Anchor program. size is the length
	// of the arguments after it.
	tag  string
	size int
	// accounts are the places in the source's order: pool, va and vb (vaults), ma and mb (mints),
	// shares (mint of the liquidity tokens), user. Others have any name.
	accounts string
	added    bool
	// tells returns the event that says of a and b what moved; nil if the program tells nothing.
	tells func(s *scene, a, b uint64) []byte
	log   string // where the event is: "" is a call to itself, else the beginning of a log line
	// single: the program has instructions for one token.
	single bool
}

const (
	ammV4    = "675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8"
	dammV1   = "Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB"
	dammV2   = "cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG"
	pumpSwap = "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA"
	saber    = "SSwpkEEcbUqx4vtoEByFjSkhKdCT862DNVb52nZg1UZ"
	saros    = "SSwapUtytfBdBn1b9NUGG6foMVPtcWgpRU32HToDUZr"
)

// numbers appends u64 numbers.
func numbers(data []byte, list ...uint64) []byte {
	for _, n := range list {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return data
}

// Sources: raydium-io/raydium-amm program/src/instruction.rs and log.rs; MeteoraAg/damm-v1-sdk
// programs/dynamic-amm/src/instructions and event.rs; MeteoraAg/damm-v2
// programs/cp-amm/src/instructions and event.rs; pump-fun/pump-public-docs idl/pump_amm.json;
// saber-hq/stable-swap stable-swap-client/src/instruction.rs; SPL token-swap
// program/src/instruction.rs.
func layouts() []layout {
	const (
		rayLog, dataLog = "Program log: ray_log: ", "Program data: "
		v1              = "pool shares userlp alp blp avault bvault alpmint blpmint va vb ua ub user vprog token"
		v1Fund          = "pool shares ma mb avault bvault va vb alpmint blpmint alp blp ua ub userlp afee bfee user feeowner rent meta metaprog vprog token assoc sys"
		v2Remove        = "auth pool position ua ub va vb ma mb nft user pa pb event self"
		pump            = "pool config user ma mb shares ua ub userlp va vb token token22 event self"
	)
	v1Event := func(name string, tail int) func(*scene, uint64, uint64) []byte {
		return func(_ *scene, a, b uint64) []byte {
			return append(numbers([]byte(anchorEvent(name)), 77, a, b), make([]byte, tail)...)
		}
	}
	v2Changed := func(kind byte) func(*scene, uint64, uint64) []byte {
		return func(s *scene, a, b uint64) []byte {
			data := append([]byte(anchorEvent("EvtLiquidityChange")), s.tx.Keys[s.at("pool")].Bytes()...)
			// What moved without and with transfer fees, and the reserves.
			data = numbers(append(data, make([]byte, 2*32)...), a, b, a, b, 1000, 2000)
			return append(append(data, make([]byte, 16+2*8)...), kind)
		}
	}
	v2Before := func(name string) func(*scene, uint64, uint64) []byte {
		return func(s *scene, a, b uint64) []byte {
			data := append([]byte(anchorEvent(name)), s.tx.Keys[s.at("pool")].Bytes()...)
			return numbers(append(data, make([]byte, 2*32+16+2*8)...), a, b)
		}
	}
	pumpTells := func(name string) func(*scene, uint64, uint64) []byte {
		return func(s *scene, a, b uint64) []byte {
			data := numbers([]byte(anchorEvent(name)), 8, 40, 200, 100, 9, 9, 9, 9, a, b, 1)
			return append(append(data, s.tx.Keys[s.at("pool")].Bytes()...), make([]byte, 4*32)...)
		}
	}
	const initialized, deposited, withdrawn = "\x00", "\x01", "\x02"
	ray := func(kind string, before, after int, turned bool) func(*scene, uint64, uint64) []byte {
		return func(_ *scene, a, b uint64) []byte {
			if turned {
				a, b = b, a
			}
			return append(numbers(append([]byte(kind), make([]byte, before)...), a, b), make([]byte, after)...)
		}
	}
	return []layout{
		{venue: "raydium_amm_v4", program: ammV4, name: "deposit", tag: "\x03", size: 24, added: true, log: rayLog, tells: ray(deposited, 6*8+2*16, 8, false),
			accounts: "token pool auth orders target shares va vb market ua ub userlp user queue"},
		{venue: "raydium_amm_v4", program: ammV4, name: "withdraw", tag: "\x04", size: 8, log: rayLog, tells: ray(withdrawn, 5*8+2*16, 0, false),
			accounts: "token pool auth orders target shares va vb mprog market mva mvb signer userlp ua ub user queue bids asks"},
		// The form before: a withdrawal queue and temporary tokens come before the market.
		{venue: "raydium_amm_v4", program: ammV4, name: "withdraw", tag: "\x04", size: 8, log: rayLog, tells: ray(withdrawn, 5*8+2*16, 0, false),
			accounts: "token pool auth orders target shares va vb wqueue temporary mprog market mva mvb signer userlp ua ub user queue bids asks"},
		{venue: "raydium_amm_v4", program: ammV4, name: "initialize2", tag: "\x01", size: 25, added: true, log: rayLog, tells: ray(initialized, 8+2+2*8, 32, true),
			accounts: "token assoc sys rent pool auth orders shares ma mb va vb target config fees mprog market user ua ub userlp"},

		{venue: "meteora_damm_v1", program: dammV1, name: "add_balance_liquidity", size: 24, added: true, log: dataLog, tells: v1Event("AddLiquidity", 0), accounts: v1},
		{venue: "meteora_damm_v1", program: dammV1, name: "add_imbalance_liquidity", size: 24, added: true, log: dataLog, tells: v1Event("AddLiquidity", 0), accounts: v1, single: true},
		{venue: "meteora_damm_v1", program: dammV1, name: "bootstrap_liquidity", size: 16, added: true, log: dataLog, tells: v1Event("BootstrapLiquidity", 32), accounts: v1},
		{venue: "meteora_damm_v1", program: dammV1, name: "remove_balance_liquidity", size: 24, log: dataLog, tells: v1Event("RemoveLiquidity", 0), accounts: v1},
		{venue: "meteora_damm_v1", program: dammV1, name: "remove_liquidity_single_side", size: 16, log: dataLog, tells: v1Event("RemoveLiquidity", 0), single: true,
			accounts: "pool shares userlp alp blp avault bvault alpmint blpmint va vb destination user vprog token"},
		{venue: "meteora_damm_v1", program: dammV1, name: "initialize_permissionless_pool", size: 17, added: true, log: dataLog, tells: v1Event("AddLiquidity", 0), accounts: v1Fund},
		{venue: "meteora_damm_v1", program: dammV1, name: "initialize_permissionless_constant_product_pool_with_config", size: 16, added: true, log: dataLog, tells: v1Event("AddLiquidity", 0),
			accounts: "pool config shares ma mb avault bvault va vb alpmint blpmint alp blp ua ub userlp afee bfee user rent meta metaprog vprog token assoc sys"},
		{venue: "meteora_damm_v1", program: dammV1, name: "initialize_customizable_permissionless_constant_product_pool", size: 120, added: true, log: dataLog, tells: v1Event("AddLiquidity", 0),
			accounts: strings.Replace(v1Fund, " feeowner", "", 1)},

		{venue: "meteora_damm_v2", program: dammV2, name: "add_liquidity", size: 32, added: true, tells: v2Changed(0), accounts: "pool position ua ub va vb ma mb nft user pa pb event self"},
		{venue: "meteora_damm_v2", program: dammV2, name: "add_liquidity", size: 32, added: true, tells: v2Before("EvtAddLiquidity"), accounts: "pool position ua ub va vb ma mb nft user pa pb event self"},
		{venue: "meteora_damm_v2", program: dammV2, name: "remove_liquidity", size: 32, tells: v2Changed(1), accounts: v2Remove},
		{venue: "meteora_damm_v2", program: dammV2, name: "remove_all_liquidity", size: 16, tells: v2Before("EvtRemoveLiquidity"), accounts: v2Remove},
		{venue: "meteora_damm_v2", program: dammV2, name: "initialize_pool", size: 33, added: true,
			accounts: "user nftmint nft payer config auth pool position ma mb va vb ua ub pa pb token22 sys event self"},
		{venue: "meteora_damm_v2", program: dammV2, name: "initialize_customizable_pool", size: 99, added: true,
			accounts: "user nftmint nft payer auth pool position ma mb va vb ua ub pa pb token22 sys event self"},
		{venue: "meteora_damm_v2", program: dammV2, name: "initialize_pool_with_dynamic_config", size: 99, added: true,
			accounts: "user nftmint nft payer creatorauth config auth pool position ma mb va vb ua ub pa pb token22 sys event self"},

		{venue: "pumpswap", program: pumpSwap, name: "deposit", size: 24, added: true, tells: pumpTells("DepositEvent"), accounts: pump},
		{venue: "pumpswap", program: pumpSwap, name: "withdraw", size: 24, tells: pumpTells("WithdrawEvent"), accounts: pump},
		{venue: "pumpswap", program: pumpSwap, name: "create_pool", size: 52, added: true,
			accounts: "pool config user ma mb shares ua ub userlp va vb sys token22 pa pb assoc event self"},

		{venue: "saber", program: saber, name: "deposit", tag: "\x02", size: 24, added: true, accounts: "pool auth user ua ub va vb shares userlp token", single: true},
		{venue: "saber", program: saber, name: "withdraw", tag: "\x03", size: 24, accounts: "pool auth user shares userlp va vb ua ub afee bfee token"},
		{venue: "saber", program: saber, name: "withdraw_one", tag: "\x04", size: 16, accounts: "pool auth user shares userlp va vb ua afee token", single: true},

		{venue: "saros_amm", program: saros, name: "deposit_all_token_types", tag: "\x02", size: 24, added: true, accounts: "pool auth user ua ub va vb shares userlp ma mb pa pb token"},
		{venue: "saros_amm", program: saros, name: "withdraw_all_token_types", tag: "\x03", size: 24, accounts: "pool auth user shares userlp va vb ua ub fees ma mb token pa pb"},
		{venue: "saros_amm", program: saros, name: "deposit_single_token_type_exact_amount_in", tag: "\x04", size: 16, added: true, single: true,
			accounts: "pool auth user ua va vb shares userlp ma pa token"},
		{venue: "saros_amm", program: saros, name: "withdraw_single_token_type_exact_amount_out", tag: "\x05", size: 16, single: true,
			accounts: "pool auth user shares userlp va vb ua fees ma token pa"},
	}
}

// build makes the instruction's transaction: a and b are moved between the vaults and the user. It
// mints or burns liquidity tokens if the program has them. said are the amounts of the event.
func (l *layout) build(t *testing.T, a, b uint64, said [2]uint64) *scene {
	t.Helper()
	s := newScene(t, l.program)
	tag := l.tag
	if tag == "" {
		sum := sha256.Sum256([]byte("global:" + l.name))
		tag = string(sum[:8])
	}
	names := strings.Fields(l.accounts)
	s.call(tag+string(make([]byte, l.size)), names...)
	if user := slices.Index(names, "user"); user >= 0 {
		s.out.Accounts[user] = 0
	}
	for _, side := range []struct {
		vault, wallet, mint string
		amount              uint64
	}{{"va", "ua", "ma", a}, {"vb", "ub", "mb", b}} {
		post, from, to := 5000+side.amount, side.wallet, side.vault
		if !l.added {
			post, from, to = 5000-side.amount, side.vault, side.wallet
		}
		s.holds(side.vault, "auth", side.mint, 5000, post)
		if side.amount > 0 {
			s.moves(from, to, side.amount)
		}
	}
	if slices.Contains(names, "shares") {
		tag, pre, post := byte(7), uint64(0), uint64(40)
		first, second := "shares", "userlp"
		if !l.added {
			tag, pre, post, first, second = 8, 40, 0, second, first
		}
		s.holds("userlp", "wallet", "shares", pre, post)
		s.mints(tag, first, second, 40)
	}
	switch {
	case l.tells == nil:
	case l.log == "":
		s.tells(l.tells(s, said[0], said[1]))
	default:
		s.tx.Details = details{lines: []string{
			"Program " + l.program + " invoke [1]", l.log + encoded(l.tells(s, said[0], said[1])), "Program " + l.program + " success",
		}}
	}
	return s
}

// TestLiquidityIsReadAsTheSourcesLayItOut: pool, mints, amounts, liquidity tokens and provider are
// found at the places of each source, its event agrees, and one that says other amounts does not.
func TestLiquidityIsReadAsTheSourcesLayItOut(t *testing.T) {
	for _, l := range layouts() {
		cases := [][2]uint64{{1000, 300}}
		if l.single {
			cases = append(cases, [2]uint64{1000, 0}, [2]uint64{0, 300})
		}
		for _, moved := range cases {
			what := fmt.Sprint(l.venue, " ", l.name, " ", moved)
			s := l.build(t, moved[0], moved[1], moved)
			changes, amounts := s.liquidity()
			require.Len(t, changes, 1, what)
			m, key := changes[0], func(name string) []byte { return s.tx.Keys[s.at(name)].Bytes() }
			require.Equal(t, []string{l.venue, l.name}, []string{m.GetVenue(), m.GetInstruction()})
			require.Equal(t, l.added, m.GetAdded(), what)
			require.Equal(t, key("pool"), m.GetPool(), what)
			require.Equal(t, s.tx.Keys[0].Bytes(), m.GetProvider(), what)
			require.Equal(t, [][]byte{key("ma"), key("mb"), key("va"), key("vb")}, [][]byte{m.GetMintA(), m.GetMintB(), m.GetVaultA(), m.GetVaultB()}, what)
			require.Equal(t, []uint64{moved[0], moved[1]}, []uint64{m.GetAmountA(), m.GetAmountB()}, "%s: %v", what, amounts)
			if strings.Contains(l.accounts, "shares") {
				require.Equal(t, key("shares"), m.GetLpMint(), what)
				require.EqualValues(t, 40, m.GetLpAmount(), what)
			} else {
				require.Empty(t, m.GetLpMint(), what)
			}
			agreed := eventspb.LegSource_LEG_SOURCE_TRANSFERS | eventspb.LegSource_LEG_SOURCE_BALANCES
			event := eventspb.LegSource_LEG_SOURCE_EVENT
			if l.log != "" {
				event = eventspb.LegSource_LEG_SOURCE_LOG
			}
			if l.tells == nil {
				require.EqualValues(t, agreed, m.GetAgreed(), what)
				continue
			}
			require.EqualValues(t, agreed|event, m.GetAgreed(), what)
			require.Zero(t, m.GetDisagreed(), what)
			changes, _ = l.build(t, moved[0], moved[1], [2]uint64{moved[0] + 50, moved[1] + 50}).liquidity()
			require.EqualValues(t, event, changes[0].GetDisagreed(), "%s: the event says more than moved", what)
		}
	}
}

// TestLiquidityOfShortInstructionsIsNone: with its last accounts missing an instruction is no
// longer one that the source lays out.
func TestLiquidityOfShortInstructionsIsNone(t *testing.T) {
	for _, l := range layouts() {
		s := l.build(t, 1000, 300, [2]uint64{1000, 300})
		s.out.Accounts = s.out.Accounts[:7]
		require.Empty(t, s.swaps().Liquidity, "%s %s", l.venue, l.name)
	}
}
