package registry

import "strconv"

// TransferFee returns the transfer fee of a Token-2022 mint in basis points: the higher of the fee
// that holds and the one that will. It is 0 if the mint has no fee, or if the fee is unknown.
func (s *State) TransferFee() (basisPoints uint16) {
	const kind = "transfer_fee_config."
	if _, has := s.held(RegisterExtension, "transfer_fee_config"); !has {
		return 0
	}
	older, _ := s.held(RegisterExtension, kind+"older_transfer_fee_basis_points")
	// An instruction states the new fee under another name than the account does. The later of the
	// two holds.
	newer, _ := s.held(RegisterExtension, kind+"newer_transfer_fee_basis_points")
	if set, ok := s.held(RegisterExtension, kind+"transfer_fee_basis_points"); ok && (newer == nil || newer.Position.Compare(set.Position) < 0) {
		newer = set
	}
	for _, fact := range []*Fact{older, newer} {
		if fact == nil {
			continue
		}
		if n, err := strconv.ParseUint(fact.Value, 10, 16); err == nil {
			basisPoints = max(basisPoints, uint16(n))
		}
	}
	return basisPoints
}
