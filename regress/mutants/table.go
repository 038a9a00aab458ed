package mutants

import "slices"

// Table returns every mutant, in the order of the folders.
func Table() []Mutant {
	return slices.Concat(
		handleMutants, grantMutants, connMutants, laneMutants, reqMutants, eventMutants, fanoutMutants,
		wireMutants, storeMutants, queryMutants, socketMutants, operatorMutants, accessMutants, groupMutants,
		revokeMutants, feedMutants, transferMutants, replicaMutants, weaknessMutants, deferredMutants, postgresMutants, retentionMutants, wordsMutants, presenceMutants, fenceMutants, kvMutants, negMutants,
		mirrorMutants,
	)
}
