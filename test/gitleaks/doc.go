// Package gitleaks makes review/risk/secrets/rules.go from the rules of the gitleaks
// module, and holds our search to what gitleaks' own detector finds. It is a module
// of its own so that gitleaks' many dependencies are none of aibox. It ships nothing.
package gitleaks
