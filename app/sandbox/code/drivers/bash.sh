# shellcheck shell=bash
# Runs bash code for package code. See driver.go.
trap : INT
while
	# break and continue in the code act on this loop, so that the code does not come to its end.
	if [ -n "$__aibox_nonce" ]; then
		echo 'bash: break and continue are only meaningful in a loop: the rest of the code was skipped' >&5
		printf '\0%s{"exit":1}\0' "$__aibox_nonce" >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
	fi
	IFS=' ' read -r -u 3 __aibox_nonce __aibox_mode __aibox_size
do
	__aibox_code=$(head -c "$__aibox_size" <&3 2>/dev/null && printf x)
	__aibox_code=${__aibox_code%x}
	case $__aibox_mode in
	check)
		bash -n <<<"$__aibox_code"
		printf '\0%s{"exit":%d}\0' "$__aibox_nonce" $? >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		exit 0
		;;
	run)
		break # bash itself warns about a break or continue outside of a loop
		;;
	*)
		printf '\0%s\0' "$__aibox_nonce" >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		eval "$__aibox_code" 3<&- 4>&- 5>&-
		printf '\0%s{"exit":%d}\0' "$__aibox_nonce" $? >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		__aibox_nonce=
		;;
	esac
done
if [ "$__aibox_mode" = run ]; then
	trap - INT
	exec 3<&- 4>&- 5>&-
	unset __aibox_nonce __aibox_mode __aibox_size __aibox_driver
	eval "unset __aibox_code; $__aibox_code"
	exit
fi
if [ -n "$__aibox_nonce" ]; then # the code left the loop
	# shellcheck disable=SC2154 # what starts this script sets it
	eval "$__aibox_driver"
fi
