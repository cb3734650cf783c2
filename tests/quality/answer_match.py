"""Decides whether an answer in free wording contains the expected one. Numbers in words and in digits are equal."""
import re

UNITS = {word: value for value, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen".split())}
TENS = {word: 10 * value for value, word in enumerate(
    "twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
SCALES = {"hundred": 100, "thousand": 1000, "million": 1000000}
ARTICLES = {"a", "an", "the"}


def words(text):
    text = text.lower().replace("\u2019", "'").replace("-", " ")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return re.findall(r"[a-z]+(?:'[a-z]+)?|\d+(?:\.\d+)?", text)


def read_number(tokens, at):
    """Returns the number in words that begins at tokens[at], and where it ends; None if there is none."""
    total = group = 0
    end = at
    last = None  # kind of the last word: unit, ten, or scale
    while end < len(tokens):
        word = tokens[end]
        if word in UNITS and last in (None, "ten", "scale"):
            if last == "ten" and not 0 < UNITS[word] < 10:
                break
            group, last = group + UNITS[word], "unit"
        elif word in TENS and last in (None, "scale"):
            group, last = group + TENS[word], "ten"
        elif word in SCALES and last is not None:
            if SCALES[word] == 100:
                group *= 100
            else:
                total, group = total + group * SCALES[word], 0
            last = "scale"
        elif word == "and" and last == "scale" and end + 1 < len(tokens) and (
                tokens[end + 1] in UNITS or tokens[end + 1] in TENS):
            pass
        else:
            break
        end += 1
    return None if last is None else (total + group, end)


def normal_form(text):
    """Words in lower case without articles and punctuation, numbers as digits."""
    tokens, out, at = words(text), [], 0
    while at < len(tokens):
        number = read_number(tokens, at)
        if number:
            out.append(str(number[0]))
            at = number[1]
            continue
        if tokens[at] not in ARTICLES:
            out.append(tokens[at])
        at += 1
    return out


def holds(answer, expected):
    """Whether the answer contains the expected words, in order and adjacent."""
    have, want = normal_form(answer), normal_form(expected)
    return any(have[i:i + len(want)] == want for i in range(len(have) - len(want) + 1))


SAYING = (r"(?:mention|stat|sa[iy]|specif|provid|giv|nam|t[eo]l[dl]|describ|indicat|contain|includ|reveal|explain|identif|know|have|discuss)"
          r"\w*")
NEGATION = r"(?:\bnot|n't|\bnever)\b"
DECLINED = re.compile(
    rf"\b(?:text|passage|document|author|book|story|excerpt|article|narrator)s?\b(?:\s+\w+)?\s+\w*{NEGATION}\s+(?:\w+ly\s+)?{SAYING}|"
    rf"(?:\bis|\bare|\bwas|\bwere)(?:\s+not|n't)\s+(?:\w+ly\s+)?(?:mentioned|stated|said|specified|provided|given|named|told|described|"
    r"indicated|known|clear (?:from|if|wh)|in the text|revealed|identified|discussed)|"
    r"\b(?:I|we)\s+(?:do not|don't|cannot|can't)\s+(?:know|say|tell|answer|determine)|"
    r"\bcannot be (?:said|told|answered|determined|known)|\bno (?:mention|information|indication|answer)\b|"
    r"^\W*(?:unknown|not (?:mentioned|stated|known|specified))\b", re.IGNORECASE)


def declines(answer):
    """Whether the answer is that the text does not tell. English; short forms of it may be missed."""
    return bool(DECLINED.search(answer.replace("\u2019", "'")))
