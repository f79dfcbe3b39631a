#!/usr/bin/env bash
# Demonstrates aibox, from a failing test to a reviewed branch: a real agent CLI works on a
# small project inside gVisor, without a key, a model or Internet access. Run it as an
# unprivileged user with rootless Docker (scripts/with-sandbox.sh). Each run starts over.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly AGENT=codex
readonly PROJECT=$HOME/aibox-demo/price
readonly TASK="The tests of this project fail. Find out why and fix the code, not the tests."

main() {
	say "building aibox"
	make --no-print-directory build
	export PATH=$PWD/bin:$PATH

	say "building the image of $AGENT (this takes minutes, but only the first time)"
	aibox bake "$AGENT"

	say "creating a project with a failing test: $PROJECT"
	make_project
	if run_tests "$PROJECT"; then
		fail "the sample's test passes before the agent has run; this is a bug"
	fi

	choose_inference
	say "running $AGENT on it in a sandbox, with ${INFERENCE[1]}"
	aibox run --agent "$AGENT" --repo "$PROJECT" "${INFERENCE[@]}" --prompt "$TASK"

	local id
	id=$(aibox ls --json | jq -r --arg project "$PROJECT" 'map(select(.repository == $project)) | max_by(.created).id')
	say "refused network requests"
	aibox netguard log "$id"

	say "changes"
	aibox diff "$id"

	say "accepting the changes to a branch, and testing that branch"
	aibox accept "$id"
	test_branch

	say "done. The project is in $PROJECT; \`git -C $PROJECT log --all --oneline\` shows the branch"
	echo "    To use your own repository, cd into it and run: $PWD/bin/aibox run --agent $AGENT --prompt '…'"
}

say() { printf '\n==> %s\n' "$*"; }

fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# make_project: recreates the project, and removes the sessions of an earlier demo.
make_project() {
	aibox ls --json | jq -r --arg project "$PROJECT" '.[] | select(.repository == $project) | .id' |
		xargs -r aibox rm --force --
	rm -rf "$PROJECT"
	mkdir -p "$PROJECT"
	local file name
	for file in internal/scripted/sample/*.txt; do
		name=${file##*/}
		cp "$file" "$PROJECT/${name%.txt}"
	done
	git -C "$PROJECT" init -q -b main
	git -C "$PROJECT" add .
	git -C "$PROJECT" -c user.name="aibox demo" -c user.email=demo@aibox.invalid commit -q -m "A price with a discount"
}

run_tests() { (cd "$1" && GOWORK=off GOFLAGS=-count=1 go test ./...); }

# choose_inference: the built-in server, unless Ollama runs here and the user chooses it.
choose_inference() {
	INFERENCE=(--inference scripted:demo)
	local model
	model=$(curl -fsS --max-time 1 http://127.0.0.1:11434/api/tags 2>/dev/null | jq -r '.models[0].name // empty' 2>/dev/null) || return 0
	[[ $model && -t 0 && -t 1 ]] || return 0
	local answer
	read -r -p "Ollama is running on this machine. Use its model $model instead of the built-in script? [y/N] " answer
	[[ $answer == [yY]* ]] || return 0
	INFERENCE=(--inference ollama --model "$model")
}

# test_branch: tests the newest branch in a temporary worktree.
test_branch() (
	branch=$(git -C "$PROJECT" for-each-ref --sort=-committerdate --format='%(refname:short)' refs/heads | grep -vx main | head -n 1)
	[[ $branch ]] || fail "accept created no branch"
	beside=$(mktemp -d)
	trap 'git -C "$PROJECT" worktree remove --force "$beside/price"; rm -rf "$beside"' EXIT
	git -C "$PROJECT" worktree add -q --detach "$beside/price" "$branch"
	run_tests "$beside/price" || fail "the test still fails on the branch $branch"
	echo "    the branch $branch passes its test"
)

main "$@"
