"""Ratings of films by users (`ml-1m.zip`: users.dat, movies.dat, ratings.dat)."""
import random
import re
import zipfile
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional

import numpy as np

from .common import find

__all__ = ["MovieInfo", "UserInfo", "age_table", "fetch", "get_movie_title_dict", "max_job_id", "max_movie_id",
           "max_user_id", "movie_categories", "movie_info", "test", "train", "user_info"]

FILE = "ml-1m.zip"
TEST_RATIO = 0.1
age_table = [1, 18, 25, 35, 45, 50, 56]
_TITLE = re.compile(r"^(.*)\((\d+)\)$")  # a title with its year
_kept: Dict[Optional[str], "_Tables"] = {}  # by where they came from


class MovieInfo:
    """A film: index, categories and title (without the year)."""

    def __init__(self, index, categories: List[str], title: str):
        self.index, self.categories, self.title = int(index), categories, title

    def value(self) -> list:
        """[index, numbers of the categories, numbers of the title's words]."""
        categories, words = movie_categories(), get_movie_title_dict()
        return [self.index, [categories[c] for c in self.categories], [words[w.lower()] for w in self.title.split()]]

    def __repr__(self) -> str:
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """A user: index, gender, group of age (a place in age_table) and job."""

    def __init__(self, index, gender: str, age, job_id):
        self.index, self.is_male = int(index), gender == "M"
        self.age, self.job_id = age_table.index(int(age)), int(job_id)

    def value(self) -> list:
        """[index, 0 for men and 1 for women, group of age, job]."""
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]

    def __repr__(self) -> str:
        return f"<UserInfo id({self.index}), gender({'M' if self.is_male else 'F'}), age({age_table[self.age]}), " \
               f"job({self.job_id})>"


class _Tables(NamedTuple):
    movies: Dict[int, MovieInfo]
    users: Dict[int, UserInfo]
    ratings: List[List[int]]  # user, film, stars
    words: Dict[str, int]
    categories: Dict[str, int]


def _generated() -> Dict[str, List[List[str]]]:
    """60 users, 40 films, every one of whose categories pleases men or women, and 4,000 ratings."""
    draw, kinds = random.Random(1), ["Action", "Comedy", "Drama", "Romance"]
    users = [[str(u), draw.choice("MF"), str(draw.choice(age_table)), str(draw.randrange(21))] for u in range(1, 61)]
    movies = [[str(m), f"Film word{m % 17} word{m % 5} ({1980 + m % 20})", kinds[m % 4]] for m in range(1, 41)]
    ratings = []
    for _ in range(4000):
        user, movie = draw.choice(users), draw.choice(movies)
        liked = (kinds.index(movie[2]) < 2) == (user[1] == "M")
        ratings.append([user[0], movie[0], str(draw.choice([4, 5] if liked else [1, 2, 3])), "0"])
    return {"users": users, "movies": movies, "ratings": ratings}


def _rows(archive: zipfile.ZipFile, name: str) -> List[List[str]]:
    member = next(n for n in archive.namelist() if n.endswith(f"{name}.dat"))
    return [line.split("::") for line in archive.read(member).decode("latin-1").splitlines() if line]


def _tables() -> _Tables:
    path = find("movielens", FILE, "ratings")
    if path in _kept:
        return _kept[path]
    if path is None:
        raw = _generated()
    else:
        with zipfile.ZipFile(path) as archive:
            raw = {name: _rows(archive, name) for name in ("users", "movies", "ratings")}
    movies, words, categories = {}, set(), set()
    for index, title, kinds in raw["movies"]:
        title = _TITLE.match(title).group(1)
        movies[int(index)] = MovieInfo(index, kinds.split("|"), title)
        words.update(w.lower() for w in title.split())
        categories.update(kinds.split("|"))
    users = {int(row[0]): UserInfo(*row[:4]) for row in raw["users"]}
    _kept[path] = _Tables(movies, users, [[int(n) for n in row[:3]] for row in raw["ratings"]],
                          {w: n for n, w in enumerate(sorted(words))}, {c: n for n, c in enumerate(sorted(categories))})
    return _kept[path]


def _reader(test_part: bool) -> Callable[[], Iterator[list]]:
    def samples():
        tables, draw = _tables(), np.random.RandomState(0)
        for user, movie, stars in tables.ratings:
            if (draw.random_sample() < TEST_RATIO) == test_part:
                yield tables.users[user].value() + tables.movies[movie].value() + [[stars * 2 - 5.0]]

    return samples


def train() -> Callable[[], Iterator[list]]:
    """A reader of [user, gender, age, job, film, categories, words of the title, [rating from -3 to 5]]."""
    return _reader(False)


def test() -> Callable[[], Iterator[list]]:
    """As `train`: a tenth of the ratings."""
    return _reader(True)


def get_movie_title_dict() -> Dict[str, int]:
    """Word of a title, in small letters -> number."""
    return _tables().words


def movie_categories() -> Dict[str, int]:
    """Category of films -> number."""
    return _tables().categories


def max_movie_id() -> int:
    """The largest index of a film."""
    return max(_tables().movies)


def max_user_id() -> int:
    """The largest index of a user."""
    return max(_tables().users)


def max_job_id() -> int:
    """The largest number of a job."""
    return max(user.job_id for user in _tables().users.values())


def movie_info() -> Dict[int, MovieInfo]:
    """Films by index."""
    return _tables().movies


def user_info() -> Dict[int, UserInfo]:
    """Users by index."""
    return _tables().users


def fetch() -> Optional[str]:
    """The path of the archive, or None where ratings are generated. Nothing is downloaded."""
    return find("movielens", FILE, "ratings")
