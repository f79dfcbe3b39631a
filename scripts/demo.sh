#!/usr/bin/env bash
# From a failing test to a reviewed branch: a real agent CLI works on a small project
# inside gVisor, with no key, no model and no way out. Runs as an unprivileged user
# with the daemon at hand (scripts/with-sandbox.sh); running it again starts afresh.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly AGENT=codex
readonly PROJECT=$HOME/aibox-demo/price
readonly TASK="The tests of this project fail. Find out why and mend the code, not the tests."

main() {
	say "building aibox"
	make --no-print-directory build
	export PATH=$PWD/bin:$PATH

	say "baking the image of $AGENT (the first time takes minutes, later it is there)"
	aibox bake "$AGENT"

	say "a project with a failing test: $PROJECT"
	make_project
	if run_tests "$PROJECT"; then
		fail "the sample's test passes before the agent came; this should not be"
	fi

	choose_inference
	say "$AGENT works on it in a sandbox, talking to ${INFERENCE[1]}"
	aibox run --agent "$AGENT" --repo "$PROJECT" "${INFERENCE[@]}" --prompt "$TASK"

	local id
	id=$(aibox ls --json | jq -r 'max_by(.created).id')
	say "what the network refused"
	aibox netguard log "$id"

	say "what it changed"
	aibox diff "$id"

	say "accepting it to a branch, and testing that branch"
	aibox accept "$id"
	test_branch

	say "done. The project is in $PROJECT; \`git -C $PROJECT log --all --oneline\` shows the branch"
	echo "    Your own repository next: cd into it, then: $PWD/bin/aibox run --agent $AGENT --prompt '…'"
}

say() { printf '\n==> %s\n' "$*"; }

fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# make_project: afresh; the accepted sessions of an earlier demo go with its project.
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

# choose_inference: the built-in server, unless a model is here and a person wants it.
choose_inference() {
	INFERENCE=(--inference scripted:demo)
	local model
	model=$(curl -fsS --max-time 1 http://127.0.0.1:11434/api/tags 2>/dev/null | jq -r '.models[0].name // empty' 2>/dev/null) || return 0
	[[ $model && -t 0 && -t 1 ]] || return 0
	local answer
	read -r -p "Ollama answers on this machine. Let $AGENT use its model $model instead of the built-in script? [y/N] " answer
	[[ $answer == [yY]* ]] || return 0
	INFERENCE=(--inference ollama --model "$model")
}

# test_branch: the newest branch but main, checked out beside the project for a moment.
test_branch() (
	branch=$(git -C "$PROJECT" for-each-ref --sort=-committerdate --format='%(refname:short)' refs/heads | grep -vx main | head -n 1)
	[[ $branch ]] || fail "no branch came out of accept"
	beside=$(mktemp -d)
	trap 'git -C "$PROJECT" worktree remove --force "$beside/price"; rm -rf "$beside"' EXIT
	git -C "$PROJECT" worktree add -q --detach "$beside/price" "$branch"
	run_tests "$beside/price" || fail "the test still fails on the branch $branch"
	echo "    the branch $branch passes its test"
)

main "$@"
